/**
 * The fields of the request log, in the order of the API. The records in the journal, the rows that the settler writes, the
 * columns that are read, the entries of the API and the columns of exports derive from this table.
 */
export const LOG_FIELDS = {
  id: { type: 'id', begin: 1, end: 1, column: 'id', api: 'id' },
  /** Unix milliseconds at which the request arrived. */
  atMs: { type: 'time', begin: 2, end: 2, column: 'at', api: 'time' },
  /** The gateway that served the request. */
  node: { type: 'text', column: 'node' },
  userId: { type: 'text', nullable: true, begin: 7, end: 7, column: 'user_id', api: 'user_id' },
  enterpriseId: { type: 'text', nullable: true, begin: 8, end: 8, column: 'enterprise_id', api: 'enterprise_id' },
  departmentId: { type: 'text', nullable: true, begin: 9, end: 9, column: 'department_id', api: 'department_id' },
  memberId: { type: 'text', nullable: true, begin: 10, end: 10, column: 'member_id', api: 'member_id' },
  keyId: { type: 'text', nullable: true, begin: 5, end: 5, column: 'key_id', api: 'key_id' },
  keyMasked: { type: 'text', nullable: true, begin: 6, end: 6, column: 'key_masked', api: 'key', about: 'Masked.' },
  endpoint: { type: 'text', begin: 3, end: 3, column: 'endpoint', api: 'endpoint' },
  dialect: { type: 'text', begin: 4, end: 4, column: 'dialect', api: 'dialect', about: 'The dialect of the client.' },
  /** Cut to 256 characters. */
  model: {
    type: 'text',
    nullable: true,
    begin: 11,
    end: 11,
    column: 'model',
    api: 'model',
    about: 'The model that the client asked for, or the tool that it called.',
  },
  /** The upstream's name of the model that served. */
  servedModel: { type: 'text', nullable: true, end: 21, column: 'served_model', api: 'served_model' },
  attempts: { type: 'attempts', end: 22, column: 'attempts', api: 'attempts' },
  /** The HTTP status that was sent, or 499 when the client left before that. */
  status: {
    type: 'status',
    end: 16,
    column: 'status',
    api: 'status',
    about: 'Null when the process ended before the answer did.',
  },
  errorType: { type: 'text', nullable: true, end: 17, column: 'error_type', api: 'error_type' },
  errorCode: { type: 'text', nullable: true, end: 18, column: 'error_code', api: 'error_code' },
  stream: { type: 'flag', begin: 12, end: 12, column: 'stream', api: 'stream' },
  aborted: { type: 'flag', end: 29, column: 'aborted', api: 'aborted', about: 'The client left before the end.' },
  promptTokens: { type: 'count', end: 23, within: 'usage', column: 'prompt_tokens', api: 'prompt_tokens' },
  completionTokens: { type: 'count', end: 24, within: 'usage', column: 'completion_tokens', api: 'completion_tokens' },
  cachedTokens: { type: 'count', end: 25, within: 'usage', column: 'cached_tokens', api: 'cached_tokens' },
  cacheWriteTokens: { type: 'count', end: 26, within: 'usage', column: 'cache_write_tokens' },
  reasoningTokens: { type: 'count', end: 27, within: 'usage', column: 'reasoning_tokens', api: 'reasoning_tokens' },
  costMicro: { type: 'money', column: 'cost_micro', api: 'cost', about: 'Micro-units.' },
  settlement: {
    type: 'text',
    end: 28,
    column: 'settlement',
    api: 'settlement',
    about: 'How the tokens were determined.',
  },
  queueUs: { type: 'count', end: 30, column: 'queue_us', api: 'queue_us' },
  /** From the start of the request to the first byte of the upstream's body; null when there was none. */
  ttftUs: { type: 'count', nullable: true, end: 31, column: 'ttft_us', api: 'ttft_us' },
  totalUs: { type: 'count', end: 32, column: 'total_us', api: 'total_us' },
  /** Total without the waits in the queue, for the upstream and for the client. */
  overheadUs: { type: 'count', end: 33, column: 'overhead_us', api: 'overhead_us' },
  /** Cut to 512 characters. */
  userAgent: { type: 'text', begin: 13, end: 13, column: 'user_agent', api: 'user_agent' },
  clientAddress: { type: 'text', begin: 14, end: 14, column: 'client_address', api: 'client_address' },
  /** The client's own request id, cut to 128 characters. */
  clientRequestId: {
    type: 'text',
    nullable: true,
    begin: 15,
    end: 15,
    column: 'client_request_id',
    api: 'client_request_id',
  },
  /** The id of the request's W3C trace; null when traces are off. */
  traceId: { type: 'text', nullable: true, begin: 16, end: 34, column: 'trace_id', api: 'trace_id' },
  tags: {
    type: 'tags',
    nullable: true,
    begin: 17,
    end: 35,
    column: 'tags',
    api: 'tags',
    about: 'Names and values that the client gave the request; null: none.',
  },
  /** Micro-units; null: the request has tokens, whose cost the settler computes. */
  callCostMicro: { type: 'money', nullable: true, end: 36, column: 'call_cost_micro' },
  argumentBytes: {
    type: 'count',
    nullable: true,
    end: 37,
    column: 'argument_bytes',
    api: 'argument_bytes',
    about: 'Size of the arguments of a tool call; null: the request is none.',
  },
  resultBytes: {
    type: 'count',
    nullable: true,
    end: 38,
    column: 'result_bytes',
    api: 'result_bytes',
    about: 'Size of the result of a tool call; null: there was none.',
  },
  providerId: { type: 'text', nullable: true, end: 19, column: 'provider_id', api: 'provider_id', adminsOnly: true },
  upstreamKeyId: {
    type: 'text',
    nullable: true,
    end: 20,
    column: 'upstream_key_id',
    api: 'upstream_key_id',
    adminsOnly: true,
  },
} as const satisfies Record<string, LogField>

interface LogField {
  /** `count` and `money` are whole numbers; `status` is null in the row of a request whose process ended before it did. */
  readonly type: 'id' | 'time' | 'text' | 'flag' | 'status' | 'count' | 'money' | 'attempts' | 'tags'
  readonly nullable?: true
  /**
   * Its place in the end records of the journal; `begin` is its place in the begin records. A place belongs to its field for good.
   * A new field takes the next place and is nullable: older records read as null. The settler adds a field without a place.
   */
  readonly end?: number
  readonly begin?: number
  /** The object of the end record that holds it. */
  readonly within?: 'usage'
  readonly column: string
  /** Its name in the API and in exports; absent: they do not show it. */
  readonly api?: string
  /** Only admins of the platform see it. */
  readonly adminsOnly?: true
  /** Its description in the documentation of the API. */
  readonly about?: string
}

type Table = typeof LOG_FIELDS

export type LogFieldName = keyof Table
export type LogFieldType = LogField['type']

/** The names of the fields whose row in the table has `Part`. */
export type LogFieldsWith<Part> = { [Name in LogFieldName]: Table[Name] extends Part ? Name : never }[LogFieldName]

/** The type of a field's value, if a value of the log type T is `Types[T]`. */
export type LogValue<Name extends LogFieldName, Types extends Record<LogFieldType, unknown>> = Table[Name] extends {
  readonly nullable: true
}
  ? Types[Table[Name]['type']] | null
  : Types[Table[Name]['type']]

/** A row of the table with its name. All have the same properties, so that loops over them stay fast. */
export interface NamedLogField {
  readonly name: LogFieldName
  readonly type: LogFieldType
  readonly isNullable: boolean
  readonly begin: number | null
  readonly end: number | null
  readonly isUsage: boolean
  readonly column: string
  readonly api: string | null
  readonly isForAdmins: boolean
  readonly about: string | null
}

export const LOG_FIELD_LIST: readonly NamedLogField[] = Object.entries<LogField>(LOG_FIELDS).map(([name, field]) => ({
  name: name as LogFieldName,
  type: field.type,
  isNullable: field.nullable ?? false,
  begin: field.begin ?? null,
  end: field.end ?? null,
  isUsage: field.within === 'usage',
  column: field.column,
  api: field.api ?? null,
  isForAdmins: field.adminsOnly ?? false,
  about: field.about ?? null,
}))

/** The fields of one kind of journal record, in the order of their places, which begin at 1. */
export function fieldsInRecord(kind: 'begin' | 'end'): readonly NamedLogField[] {
  return LOG_FIELD_LIST.filter((field) => field[kind] !== null).sort((a, b) => Number(a[kind]) - Number(b[kind]))
}
