/**
 * The last migration of each version, oldest first. Entered when the next version begins; what comes after the last
 * one belongs to the version under way. CHANGELOG.md says the same, and a test compares them.
 */
export const RELEASES: readonly Release[] = [
  { version: '0.1.0', lastMigration: '0003_orders' },
  { version: '0.2.0', lastMigration: '0005_ledger_calendar' },
  { version: '0.3.0', lastMigration: '0007_operation_brakes' },
];

export interface Release {
  readonly version: string;
  readonly lastMigration: string;
}
