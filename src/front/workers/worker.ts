// Comes first, so that loading the other modules runs at lower priority, too.
import './lower-priority.ts'
import { move, transferableSymbol, valueSymbol } from 'piscina'
import { GatewayError } from '../../shared/core/errors.ts'
import { joinBody, unpooled, transfersOf } from '../../shared/runtime/body-buffers.ts'
import { dialectOf } from '../../dialects/codecs.ts'
import { buildCalls, readCalls } from '../../dialects/services/calls.ts'
import { translateAnswer, translateRequest } from '../../dialects/translate.ts'
import { createValidator } from '../validation/validate.ts'
import type { Validator } from '../validation/validate.ts'
import type { BodyLimits, CountTask, Task, TaskResult } from './protocol.ts'

let validator: { readonly limits: BodyLimits; readonly validator: Validator } | null = null

/** Runs a task. The pool calls only this function. */
export async function run(task: Task): Promise<TaskResult> {
  const { bytes } = task
  const buffer = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength)
  try {
    return transferred(await perform(task, buffer))
  } catch (cause) {
    if (cause instanceof SyntaxError) return transferred(refused(new GatewayError('UPSTREAM_INVALID_ANSWER')))
    if (!(cause instanceof GatewayError)) throw cause
    return transferred(refused(cause))
  }
}

function perform(task: Task, buffer: Buffer): TaskResult | Promise<TaskResult> {
  switch (task.kind) {
    case 'check-body': {
      const { bytes: _, ...body } = validatorFor(task.limits).validate(task.endpoint, buffer)
      return { kind: 'body', body }
    }
    case 'translate-request': {
      const { body, ...request } = translateRequest(buffer, task.pair, task.edits)
      return { kind: 'translated', request, bytes: unpooled(body) }
    }
    case 'translate-answer': {
      const { body, ...answer } = translateAnswer(buffer, task.translation)
      return { kind: 'translated-answer', answer, bytes: body === null ? null : unpooled(body) }
    }
    case 'build-calls': {
      const { bodies, ...calls } = buildCalls(buffer, task.ask)
      const lengths = bodies.map((body) => body.length)
      return { kind: 'calls', calls, lengths, bytes: unpooled(joinBody(bodies)) }
    }
    case 'read-calls': {
      const { body, ...answer } = readCalls(buffer, task.reading)
      return { kind: 'answer', answer, bytes: body === null ? null : unpooled(body) }
    }
    case 'count-prompt':
    case 'count-answer':
      return counted(task, buffer)
    case 'read-answer': {
      const { body, ...answer } = dialectOf(task.dialect).readAnswer(buffer, task.request)
      return { kind: 'answer', answer, bytes: body === null ? null : unpooled(body) }
    }
  }
}

async function counted(task: CountTask, buffer: Buffer): Promise<TaskResult> {
  // The tokenizer needs 0.1 s and 70 MB, so only workers that count load it.
  const { count } = await import('./count-task.ts')
  return { kind: 'counted', tokens: count(task, buffer) }
}

function refused(error: GatewayError): TaskResult {
  return { kind: 'refused', error: { code: error.code, message: error.message, param: error.param } }
}

/** Marks the bytes of the result for transfer. Piscina looks only at the result object, not inside it. */
function transferred(result: TaskResult): TaskResult {
  if (!('bytes' in result) || result.bytes === null) return result
  return move({ [transferableSymbol]: transfersOf(result.bytes), [valueSymbol]: result }) as unknown as TaskResult
}

/** The validator for `limits`, compiled once per worker. */
function validatorFor(limits: BodyLimits): Validator {
  if (validator?.limits.maxDepth !== limits.maxDepth || validator.limits.maxElements !== limits.maxElements) {
    validator = { limits, validator: createValidator(limits) }
  }
  return validator.validator
}
