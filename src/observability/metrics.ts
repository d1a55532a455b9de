import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** Every metric of oncehook, declared once. Labels are closed sets or configured names, never a caller's text. */
export interface Metrics {
  readonly registry: Registry;
  /** Deliveries by source and answer (`accepted`, `duplicate`, or the problem's code). */
  readonly deliveries: Counter<'source' | 'answer'>;
  readonly deliverySeconds: Histogram<'source'>;
  /** Signature refusals by cause; the caller learns only `invalid_signature`. */
  readonly signatureRefusals: Counter<'source' | 'cause'>;
  /** Deliveries whose signature matched, by the position of the secret. */
  readonly secretMatches: Counter<'source' | 'position'>;
  /** Derived event IDs met again with another body: the configured fields do not tell events apart. Alarm on any. */
  readonly derivedIdConflicts: Counter<'source'>;
  /** Secrets read again at run time, by result (`replaced`, `unchanged`, `refused`). */
  readonly secretReloads: Counter<'source' | 'result'>;
  readonly bodyBytesInMemory: Gauge;
  readonly insertBatchRows: Histogram;
  /** Workflow starts by who asked (`receiver`, `sweeper`, `command`) and result (`started`, `failed`, `skipped`). */
  readonly starts: Counter<'by' | 'result'>;
  /** Handler runs by handler result (`applied`, `wait`, ...) or `defect`. */
  readonly handlerRuns: Counter<'source' | 'result'>;
  readonly infrastructureErrors: Counter<'where'>;
  /** How long activities have failed by their infrastructure without a success between; 0 when all is well. */
  readonly infrastructureTroubleSeconds: Gauge;
  readonly quarantines: Counter<'source' | 'reason'>;
  /** What sources in shadow mode would have done, by outcome. */
  readonly shadowDecisions: Counter<'source' | 'outcome'>;
  /** Attempts of external effects by kind and what is known after them. */
  readonly operationAttempts: Counter<'kind' | 'answer'>;
  /** What of external effects needs an operator now: `parked`, `account_paused`, `configuration`. Alarm on any. */
  readonly operationAlarms: Counter<'kind' | 'alarm'>;
  readonly sweeperClaims: Counter<'what'>;
  /** Rows that the sweeper found due at its last look. */
  readonly sweeperDue: Gauge<'what'>;
}

export function createMetrics(registry: Registry = new Registry()): Metrics {
  const registers = [registry];
  return {
    registry,
    deliveries: new Counter({
      name: 'oncehook_deliveries_total',
      help: 'Deliveries by source and answer.',
      labelNames: ['source', 'answer'],
      registers,
    }),
    deliverySeconds: new Histogram({
      name: 'oncehook_delivery_seconds',
      help: 'Time from the last header byte to the answer.',
      labelNames: ['source'],
      buckets: [0.002, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
      registers,
    }),
    signatureRefusals: new Counter({
      name: 'oncehook_signature_refusals_total',
      help: 'Deliveries refused for their signature, by cause.',
      labelNames: ['source', 'cause'],
      registers,
    }),
    secretMatches: new Counter({
      name: 'oncehook_secret_matches_total',
      help: 'Verified deliveries by the position of the secret that matched, from 0.',
      labelNames: ['source', 'position'],
      registers,
    }),
    derivedIdConflicts: new Counter({
      name: 'oncehook_derived_id_conflicts_total',
      help: 'Derived event IDs met again with another body: an event may have been taken for a duplicate.',
      labelNames: ['source'],
      registers,
    }),
    secretReloads: new Counter({
      name: 'oncehook_secret_reloads_total',
      help: 'Secrets read again at run time, by source and result.',
      labelNames: ['source', 'result'],
      registers,
    }),
    bodyBytesInMemory: new Gauge({
      name: 'oncehook_body_bytes_in_memory',
      help: 'Bytes of request bodies held at this moment.',
      registers,
    }),
    insertBatchRows: new Histogram({
      name: 'oncehook_insert_batch_rows',
      help: 'Deliveries committed by one insert.',
      buckets: [1, 2, 5, 10, 20, 50, 100],
      registers,
    }),
    starts: new Counter({
      name: 'oncehook_workflow_starts_total',
      help: 'Workflow starts by who asked and what came of it.',
      labelNames: ['by', 'result'],
      registers,
    }),
    handlerRuns: new Counter({
      name: 'oncehook_handler_runs_total',
      help: 'Handler runs by source and result.',
      labelNames: ['source', 'result'],
      registers,
    }),
    infrastructureErrors: new Counter({
      name: 'oncehook_infrastructure_errors_total',
      help: 'Failures of what oncehook stands on, by place.',
      labelNames: ['where'],
      registers,
    }),
    infrastructureTroubleSeconds: new Gauge({
      name: 'oncehook_infrastructure_trouble_seconds',
      help: 'How long activities have failed by what they stand on, without a success between.',
      registers,
    }),
    quarantines: new Counter({
      name: 'oncehook_quarantines_total',
      help: 'Events quarantined, by source and reason code.',
      labelNames: ['source', 'reason'],
      registers,
    }),
    shadowDecisions: new Counter({
      name: 'oncehook_shadow_decisions_total',
      help: 'What sources in shadow mode would have done, by outcome.',
      labelNames: ['source', 'outcome'],
      registers,
    }),
    operationAttempts: new Counter({
      name: 'oncehook_operation_attempts_total',
      help: 'Attempts of external effects by kind and what is known after them.',
      labelNames: ['kind', 'answer'],
      registers,
    }),
    operationAlarms: new Counter({
      name: 'oncehook_operation_alarms_total',
      help: 'External effects that an operator has to look after: parked, account_paused, configuration.',
      labelNames: ['kind', 'alarm'],
      registers,
    }),
    sweeperClaims: new Counter({
      name: 'oncehook_sweeper_claims_total',
      help: 'Rows that the sweeper claimed for a start.',
      labelNames: ['what'],
      registers,
    }),
    sweeperDue: new Gauge({
      name: 'oncehook_sweeper_due',
      help: 'Rows that the sweeper claimed at its last look; at its limit, there are more.',
      labelNames: ['what'],
      registers,
    }),
  };
}

/** Adds Node's own metrics (event loop, heap, handles); for processes of ours, not for a host application. */
export function addProcessMetrics(metrics: Metrics): void {
  collectDefaultMetrics({ register: metrics.registry });
}
