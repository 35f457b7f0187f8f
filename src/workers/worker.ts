import { move, transferableSymbol, valueSymbol } from 'piscina'
import { GatewayError } from '../core/errors.ts'
import { dialectOf } from '../dialects/index.ts'
import { createValidator } from '../validation/validate.ts'
import type { Validator } from '../validation/validate.ts'
import type { BodyLimits, Task, TaskResult } from './protocol.ts'

let validator: { readonly limits: BodyLimits; readonly validator: Validator } | null = null

/** The pool's one entry: a task in, its result out, the bytes handed back. */
export function run(task: Task): TaskResult {
  const bytes = task.bytes
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    return transferred(perform(task, buffer), bytes)
  } catch (cause) {
    if (cause instanceof SyntaxError) return transferred(refused(new GatewayError('UPSTREAM_INVALID_ANSWER')), bytes)
    if (!(cause instanceof GatewayError)) throw cause
    return transferred(refused(cause), bytes)
  }
}

type Performed =
  | Omit<Extract<TaskResult, { kind: 'body' }>, 'bytes'>
  | Omit<Extract<TaskResult, { kind: 'answer' }>, 'bytes'>
  | Omit<Extract<TaskResult, { kind: 'refused' }>, 'bytes'>

function perform(task: Task, buffer: Buffer): Performed {
  switch (task.kind) {
    case 'check-body': {
      const { bytes: handedBack, ...body } = validatorFor(task.limits).validate(task.endpoint, buffer)
      return { kind: 'body', body }
    }
    case 'read-answer':
      return { kind: 'answer', answer: dialectOf(task.dialect).readAnswer(buffer) }
  }
}

function refused(error: GatewayError): Performed {
  return { kind: 'refused', error: { code: error.code, message: error.message, param: error.param } }
}

/** Piscina looks for what it may transfer at the result itself, not inside of it. */
function transferred(performed: Performed, bytes: Uint8Array): TaskResult {
  const result = { ...performed, bytes }
  return move({ [transferableSymbol]: [bytes.buffer], [valueSymbol]: result }) as unknown as TaskResult
}

/** Compiled once per worker and limits. */
function validatorFor(limits: BodyLimits): Validator {
  if (validator?.limits.maxDepth !== limits.maxDepth || validator.limits.maxElements !== limits.maxElements) {
    validator = { limits, validator: createValidator(limits) }
  }
  return validator.validator
}
