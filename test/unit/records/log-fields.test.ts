import { expect, it } from 'vitest'
import { LogEntry, AdminLogEntry } from '../../../src/shared/api/operations/logs.ts'
import { fieldsInRecord, LOG_FIELD_LIST } from '../../../src/shared/records/log-fields.ts'
import { FRAME_HEADER_BYTES } from '../../../src/journal/frames.ts'
import { unpackValue } from '../../../src/journal/record.ts'
import { aBegin, anEnd } from '../../contract/journal-records.ts'
import { framesOf } from '../../contract/test-journal.ts'

/** As many as records had at first: a field that came later is missing from records of before. */
const FIRST_PLACES = { begin: 15, end: 33 }

it.each(['begin', 'end'] as const)('the fields of a %s record have the places 1, 2, 3 and so on, each once', (kind) => {
  const places = fieldsInRecord(kind).map((field) => field[kind])
  expect(places).toEqual(Array.from(places, (_, index) => index + 1))
})

it.each(['begin', 'end'] as const)('a field that was added to the %s record may be null', (kind) => {
  const added = fieldsInRecord(kind).slice(FIRST_PLACES[kind])
  expect(added.map(({ name }) => name)).toContain('traceId')
  expect(added.filter(({ isNullable }) => !isNullable)).toEqual([])
})

it('no two fields share a column or a name in the API', () => {
  for (const of of ['column', 'api'] as const) {
    const names = LOG_FIELD_LIST.flatMap((field) => field[of] ?? [])
    expect(names).toEqual([...new Set(names)])
  }
})

it('the places of fields never change', () => {
  const places = (['begin', 'end'] as const).map((kind) => fieldsInRecord(kind).map(({ name }) => name))
  const who = ['keyId', 'keyMasked', 'userId', 'enterpriseId', 'departmentId', 'memberId'] as const
  const client = ['model', 'stream', 'userAgent', 'clientAddress', 'clientRequestId'] as const
  const first = ['id', 'atMs', 'endpoint', 'dialect', ...who, ...client]
  const served = ['status', 'errorType', 'errorCode', 'providerId', 'upstreamKeyId', 'servedModel', 'attempts'] as const
  const tokens = ['promptTokens', 'completionTokens', 'cachedTokens', 'cacheWriteTokens', 'reasoningTokens'] as const
  const times = ['queueUs', 'ttftUs', 'totalUs', 'overheadUs'] as const
  const released = [
    [...first, 'traceId'],
    [...first, ...served, ...tokens, 'settlement', 'aborted', ...times, 'traceId'],
  ]
  expect(places.map((names, index) => names.slice(0, released[index]?.length))).toEqual(released)
})

it('a record has a value for each of its fields', () => {
  for (const record of [aBegin('a'), anEnd('a')]) {
    const values = unpackValue(framesOf(record).subarray(FRAME_HEADER_BYTES)) as unknown[]
    expect(values).toHaveLength(fieldsInRecord(record.kind).length + 1)
    expect(values[2]).toBe(record.atMs)
  }
})

it('entries of the API keep their names and their order, and what is of upstreams is for admins', () => {
  const names = Object.keys(LogEntry.properties)
  expect(names.slice(0, 2)).toEqual(['id', 'time'])
  expect(Object.keys(AdminLogEntry.properties).filter((name) => !names.includes(name))).toEqual([
    'provider_id',
    'upstream_key_id',
  ])
})
