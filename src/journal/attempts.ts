import type { Choice, Standing } from '../shared/core/deployment.ts'
import type { AttemptRecord } from '../shared/core/request-record.ts'
import type { MsgpackWriter } from './msgpack-writer.ts'
import { list, number, text, textOrNull } from './values.ts'

const ATTEMPT_FIELDS = 7
const CHOICE_FIELDS = 4

export function writeAttempts(
  writer: MsgpackWriter,
  attempts: readonly AttemptRecord[],
  servedModel: string | null,
): void {
  writer.array(attempts.length)
  for (const attempt of attempts) writeAttempt(writer, attempt, servedModel)
}

/** Throws when the value is not a list of attempts. */
export function decodeAttempts(value: unknown, servedModel: string | null): AttemptRecord[] {
  return list(value).map((attempt) => decodeAttempt(attempt, servedModel))
}

/** Written in place of the attempt's model when that model served, as it nearly always did: its name is not written twice. */
const AS_SERVED = 0

function writeAttempt(writer: MsgpackWriter, attempt: AttemptRecord, servedModel: string | null): void {
  const { model, choice, dropped } = attempt
  const hasDropped = dropped.length > 0
  const plainFields = choice === null ? ATTEMPT_FIELDS : ATTEMPT_FIELDS + CHOICE_FIELDS
  writer.array(hasDropped ? ATTEMPT_FIELDS + CHOICE_FIELDS + 1 : plainFields)
  writer.text(attempt.providerId)
  writer.text(attempt.upstreamKeyId)
  writer.number(attempt.status)
  writer.text(attempt.outcome)
  writer.number(attempt.startUs)
  writer.number(attempt.durationUs)
  if (model === servedModel) writer.number(AS_SERVED)
  else writer.text(model)
  if (choice !== null) writeChoice(writer, choice)
  else if (hasDropped) for (let i = 0; i < CHOICE_FIELDS; i++) writer.text(null)
  if (!hasDropped) return
  writer.array(dropped.length)
  for (const name of dropped) writer.text(name)
}

function writeChoice(writer: MsgpackWriter, choice: Choice): void {
  writer.text(choice.how)
  writer.number(choice.score)
  writer.number(choice.waitUs)
  writer.array(choice.others.length)
  for (const [keyId, why] of choice.others) {
    writer.array(2)
    writer.text(keyId)
    if (typeof why === 'number') writer.number(why)
    else writer.text(why)
  }
}

const NOTHING: readonly string[] = []

function decodeAttempt(value: unknown, servedModel: string | null): AttemptRecord {
  const fields = list(value)
  return {
    providerId: text(fields[0]),
    upstreamKeyId: text(fields[1]),
    status: number(fields[2]),
    outcome: text(fields[3]) as AttemptRecord['outcome'],
    startUs: number(fields[4]),
    durationUs: number(fields[5]),
    model: decodeModel(fields[6], servedModel),
    choice: fields[7] === undefined || fields[7] === null ? null : decodeChoice(fields),
    dropped: fields[11] === undefined ? NOTHING : list(fields[11]).map(text),
  }
}

function decodeModel(value: unknown, servedModel: string | null): string | null {
  if (value === AS_SERVED) return servedModel
  return value === undefined ? null : textOrNull(value)
}

function decodeChoice(fields: readonly unknown[]): Choice {
  return {
    how: text(fields[7]) as Choice['how'],
    score: fields[8] === null ? null : number(fields[8]),
    waitUs: number(fields[9]),
    others: list(fields[10]).map(decodeOther),
  }
}

function decodeOther(value: unknown): Choice['others'][number] {
  const [keyId, why] = list(value)
  return [text(keyId), typeof why === 'number' ? why : (text(why) as Standing)]
}
