import type { Choice } from '../../src/shared/core/deployment.ts'
import type { AttemptRecord, BeginRecord, EndRecord, JournalRecord } from '../../src/shared/core/request-record.ts'
import fc from '../support/fast-check.ts'

const count = fc.nat({ max: 2 ** 31 })
const text = fc.string({ maxLength: 24, unit: 'grapheme' })
const textOrNull = fc.option(text, { nil: null })

const identity = {
  id: fc.uuid(),
  atMs: fc.integer({ min: Date.UTC(2025, 0, 1), max: Date.UTC(2025, 0, 3) }),
  endpoint: fc.constantFrom('chat.completions' as const, 'messages' as const),
  dialect: fc.constantFrom('openai-chat' as const, 'anthropic-messages' as const),
  keyId: textOrNull,
  keyMasked: textOrNull,
  userId: textOrNull,
  enterpriseId: textOrNull,
  departmentId: textOrNull,
  memberId: textOrNull,
  model: textOrNull,
  stream: fc.boolean(),
  userAgent: text,
  clientAddress: fc.ipV4(),
  clientRequestId: textOrNull,
  traceId: textOrNull,
  tags: fc.option(fc.uniqueArray(fc.tuple(text, text), { maxLength: 8, selector: ([name]) => name }), { nil: null }),
}

const choice: fc.Arbitrary<Choice> = fc.record({
  how: fc.constantFrom('affinity' as const, 'load' as const, 'only' as const, 'probe' as const),
  score: fc.option(fc.double({ min: 0, max: 100, noNaN: true }), { nil: null }),
  waitUs: count,
  others: fc.array(fc.tuple(text, fc.oneof(count, fc.constantFrom('full' as const, 'tried' as const))), {
    maxLength: 8,
  }),
})

export const attemptRecords: fc.Arbitrary<AttemptRecord> = fc.record({
  providerId: text,
  upstreamKeyId: text,
  status: fc.constantFrom(0, 200, 429, 503),
  outcome: fc.constantFrom('ok' as const, 'UPSTREAM_ERROR' as const),
  startUs: count,
  durationUs: count,
  model: textOrNull,
  choice: fc.option(choice, { nil: null }),
  dropped: fc.array(text, { maxLength: 3 }),
})

export const beginRecords: fc.Arbitrary<BeginRecord> = fc.record({ kind: fc.constant('begin' as const), ...identity })

export const endRecords: fc.Arbitrary<EndRecord> = fc.record({
  kind: fc.constant('end' as const),
  ...identity,
  status: fc.constantFrom(200, 400, 401, 429, 499, 500, 503),
  errorType: fc.constantFrom(null, 'rate_limit' as const, 'server_error' as const),
  errorCode: fc.constantFrom(null, 'RPM_EXCEEDED' as const, 'INTERNAL' as const),
  providerId: textOrNull,
  upstreamKeyId: textOrNull,
  servedModel: textOrNull,
  attempts: fc.array(attemptRecords, { maxLength: 3 }),
  usage: fc.record({
    promptTokens: count,
    completionTokens: count,
    cachedTokens: count,
    cacheWriteTokens: count,
    reasoningTokens: count,
  }),
  settlement: fc.constantFrom('exact' as const, 'observed' as const, 'none' as const),
  aborted: fc.boolean(),
  queueUs: count,
  ttftUs: fc.option(count, { nil: null }),
  totalUs: count,
  overheadUs: count,
  callCostMicro: fc.option(count, { nil: null }),
  argumentBytes: fc.option(count, { nil: null }),
  resultBytes: fc.option(count, { nil: null }),
})

export const journalRecords: fc.Arbitrary<JournalRecord> = fc.oneof(beginRecords, endRecords)

export function aBegin(id: string, changes: Partial<BeginRecord> = {}): BeginRecord {
  return {
    kind: 'begin',
    id,
    atMs: Date.UTC(2025, 0, 1, 12),
    endpoint: 'chat.completions',
    dialect: 'openai-chat',
    keyId: 'key-1',
    keyMasked: 'sk-AbCd…wXyZ',
    userId: 'user-1',
    enterpriseId: null,
    departmentId: null,
    memberId: null,
    model: 'gpt-4o-mini',
    stream: true,
    userAgent: 'openai-python/1.2.3',
    clientAddress: '192.0.2.1',
    clientRequestId: null,
    traceId: '4bf92f3577b34da6a3ce929d0e0e4736',
    tags: [
      ['team', 'red'],
      ['user', 'u-1'],
    ],
    ...changes,
  }
}

export function anEnd(id: string, changes: Partial<EndRecord> = {}): EndRecord {
  return {
    ...aBegin(id),
    kind: 'end',
    status: 200,
    errorType: null,
    errorCode: null,
    providerId: 'openai',
    upstreamKeyId: 'openai-1',
    servedModel: 'gpt-4o-mini-2024-07-18',
    attempts: [
      {
        providerId: 'openai',
        upstreamKeyId: 'openai-1',
        status: 200,
        outcome: 'ok',
        startUs: 310,
        durationUs: 812_004,
        model: 'gpt-4o-mini-2024-07-18',
        choice: { how: 'load', score: 0.105, waitUs: 0, others: [['openai-2', 'cooling']] },
        dropped: [],
      },
    ],
    usage: { promptTokens: 412, completionTokens: 96, cachedTokens: 128, cacheWriteTokens: 0, reasoningTokens: 0 },
    settlement: 'exact',
    aborted: false,
    queueUs: 12,
    ttftUs: 240_113,
    totalUs: 812_900,
    overheadUs: 402,
    callCostMicro: null,
    argumentBytes: null,
    resultBytes: null,
    ...changes,
  }
}
