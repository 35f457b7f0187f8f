/** Every family of `/metrics`: its name, meaning, labels and, for a histogram, the upper bounds of its buckets in seconds. */

export type MetricType = 'counter' | 'gauge' | 'histogram'

export interface MetricDefinition {
  readonly name: string
  readonly type: MetricType
  readonly help: string
  /** At most four. */
  readonly labels: readonly string[]
  readonly bounds: readonly number[]
}

/** For the gateway's own steps, which take microseconds when all is well. */
const STEP_BOUNDS = [
  0.000_01, 0.000_025, 0.000_05, 0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5,
  1, 2.5, 5, 10, 30,
]
/** For whole answers: a reasoning model thinks for minutes. */
const ANSWER_BOUNDS = [
  0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 40, 60, 120, 300, 600, 1800,
]

export const METRIC_FAMILIES = {
  requests: counter('sluice_requests_total', 'AI requests that have ended.', ['endpoint', 'model', 'status', 'code']),
  tokens: counter('sluice_tokens_total', 'Tokens of AI requests that have ended.', ['model', 'kind']),
  phase: histogram('sluice_phase_duration_seconds', 'Time of a request in one phase.', ['phase'], STEP_BOUNDS),
  duration: histogram(
    'sluice_request_duration_seconds',
    'Time from the arrival of an AI request to the end of its answer.',
    ['endpoint', 'stream'],
    ANSWER_BOUNDS,
  ),
  firstByte: histogram(
    'sluice_time_to_first_byte_seconds',
    "Time from the arrival of an AI request to the first byte of the upstream's body.",
    ['endpoint', 'model'],
    ANSWER_BOUNDS,
  ),
  retries: counter('sluice_retries_total', 'Upstream calls beyond the first of a request.', []),
  attempts: counter('sluice_upstream_attempts_total', 'Upstream calls by outcome.', ['provider', 'key', 'outcome']),
  attemptDuration: histogram(
    'sluice_upstream_attempt_duration_seconds',
    'Time of an upstream call, from dispatch to the end of the answer.',
    ['provider'],
    ANSWER_BOUNDS,
  ),
  httpRefusals: counter('sluice_http_refusals_total', 'Requests refused before they reached a handler.', ['code']),
  shed: counter('sluice_overload_refusals_total', 'AI requests refused because the gateway is overloaded.', ['reason']),
  overloadLevel: gauge('sluice_overload_level', 'Overload level: 0 (none) to 3 (only a few requests are admitted).', [
    'process',
  ]),
  overloadLimit: gauge('sluice_overload_limit', 'AI requests that may be under way now.', ['process']),
  inFlight: gauge('sluice_requests_in_flight', 'AI requests under way.', ['process']),
  exchanges: gauge('sluice_http_exchanges_open', 'HTTP requests whose answer has not ended, of all planes.', [
    'process',
  ]),
  connections: gauge('sluice_client_connections', 'Open connections of clients.', ['process']),
  slotsUsed: gauge('sluice_upstream_slots_used', 'Upstream calls under way.', ['process', 'provider', 'key']),
  slotsHeld: gauge('sluice_upstream_slots_held', 'Upstream calls that may be under way at the same time.', [
    'process',
    'provider',
    'key',
  ]),
  cooling: gauge(
    'sluice_upstream_key_cooling_seconds',
    'Seconds until an upstream key that cools down is used again.',
    ['process', 'provider', 'key'],
  ),
  keyState: gauge('sluice_upstream_key_state', 'The state an upstream key is in (1); states it is not in are absent.', [
    'process',
    'provider',
    'key',
    'state',
  ]),
  waiting: gauge('sluice_queue_length', 'Requests that wait for an upstream slot.', ['process']),
  poolTasks: gauge('sluice_worker_tasks', 'Tasks in the worker pool, running or waiting.', ['process']),
  tunnelled: gauge('sluice_management_requests_in_flight', 'Management requests under way.', ['process']),
  journalHeld: gauge('sluice_journal_held_bytes', 'Bytes of journal records that could not be written yet.', [
    'process',
  ]),
  journalWritable: gauge('sluice_journal_writable', 'Whether the journal can be written (1) or not (0).', ['process']),
  journalSync: histogram('sluice_journal_sync_seconds', 'Time of one fdatasync of the journal.', [], STEP_BOUNDS),
  journalBytes: counter('sluice_journal_bytes_total', 'Bytes written to the journal.', ['process']),
  journalRecords: counter('sluice_journal_records_total', 'Records written to the journal.', ['process']),
  unsettledBytes: gauge('sluice_journal_unsettled_bytes', 'Bytes of the journal that are not in the database yet.', []),
  unsettledAge: gauge(
    'sluice_journal_unsettled_age_seconds',
    'Time since the database last held the whole journal.',
    [],
  ),
  journalBehind: gauge(
    'sluice_journal_behind',
    'Whether the database is further behind the journal than journal.alert_lag_ms (1) or not (0).',
    [],
  ),
  journalDiskFree: gauge('sluice_journal_disk_free_bytes', 'Free space on the disk of the journal.', []),
  settledRows: counter('sluice_settled_rows_total', 'Rows written to the request log.', []),
  deadLetters: counter('sluice_dead_letters_total', 'Journal entries that could not become rows.', []),
  captureBytes: gauge('sluice_capture_buffer_bytes', 'Bytes of captured bodies that are not in the database yet.', [
    'process',
  ]),
  capturesTaken: counter('sluice_captures_taken_total', 'Captures that the control process took from fronts.', []),
  capturesStored: counter('sluice_captures_stored_total', 'Captures written to the database.', []),
  capturesDropped: counter(
    'sluice_captures_dropped_total',
    'Captures that were dropped: full (capture.buffer_bytes), unanswered, off (turned off meanwhile), failed.',
    ['reason'],
  ),
  snapshotVersion: gauge('sluice_snapshot_version', 'Version of the configuration in use.', ['process']),
  snapshotAge: gauge('sluice_snapshot_age_seconds', 'Time since the process received the configuration in use.', [
    'process',
  ]),
  fronts: gauge('sluice_link_fronts', 'Front processes connected to the control process.', []),
  storeUp: gauge('sluice_store_up', 'Whether a store answers (1) or not (0).', ['store']),
  loopDelay: gauge('sluice_event_loop_delay_seconds', 'Delay of the event loop since the last report.', [
    'process',
    'stat',
  ]),
  residentMemory: gauge('sluice_process_resident_memory_bytes', 'Resident memory of the process.', ['process']),
  heapUsed: gauge('sluice_process_heap_used_bytes', "JavaScript heap of the process's main thread.", ['process']),
  cpu: counter('sluice_process_cpu_seconds_total', 'CPU time of the process.', ['process']),
  descriptors: gauge('sluice_process_open_fds', 'Open file descriptors.', ['process']),
} as const satisfies Record<string, MetricDefinition>

export type MetricFamily = keyof typeof METRIC_FAMILIES

type FamiliesOf<T extends MetricType> = {
  [F in MetricFamily]: (typeof METRIC_FAMILIES)[F]['type'] extends T ? F : never
}[MetricFamily]

export type CounterFamily = FamiliesOf<'counter'>
export type HistogramFamily = FamiliesOf<'histogram'>

function counter(name: string, help: string, labels: readonly string[]) {
  return { name, type: 'counter' as const, help, labels, bounds: [] }
}

function gauge(name: string, help: string, labels: readonly string[]) {
  return { name, type: 'gauge' as const, help, labels, bounds: [] }
}

function histogram(name: string, help: string, labels: readonly string[], bounds: readonly number[]) {
  return { name, type: 'histogram' as const, help, labels, bounds }
}
