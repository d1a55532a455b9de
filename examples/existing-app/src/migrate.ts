import { openDatabase } from './connections.js';
import { shopSchema } from './shop-schema.js';

const db = openDatabase();
await db.$client.query(shopSchema());
await db.$client.end();
console.log('shop: schema is current');
