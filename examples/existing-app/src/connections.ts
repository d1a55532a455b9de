import { Client, Connection } from '@temporalio/client';
import { drizzle } from 'drizzle-orm/node-postgres';
import pg from 'pg';

export function openDatabase() {
  return drizzle(new pg.Pool({ connectionString: process.env.DATABASE_URL }));
}

export function temporalAddress(): string {
  return process.env.TEMPORAL_ADDRESS ?? 'localhost:7233';
}

export async function openTemporal(): Promise<Client> {
  return new Client({ connection: await Connection.connect({ address: temporalAddress() }) });
}
