import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Phases } from './phases.ts'

/** Runs the steps of an AI request in order, and decides nothing. Each step is in the folder of its name. */
export async function handle(ctx: RequestContext, phases: Phases): Promise<void> {
  try {
    const known = phases.authenticate(ctx)
    if (known !== undefined) await known // an await without need costs as much as a phase
    const admitted = phases.admit(ctx)
    if (admitted !== undefined) await admitted
    await phases.validate(ctx)
    if (ctx.body?.namesServers === true) {
      phases.delegate(ctx) // from here on the control process runs it, in rounds of its own
      return
    }
    const reserved = phases.reserve(ctx)
    if (reserved !== undefined) await reserved
    await phases.begin(ctx)
    await phases.attempt(ctx) // schedule, translate, call the upstream, relay; the next key before the first byte
    if (ctx.tokens.unreported !== null) await phases.count(ctx)
  } catch (cause) {
    phases.fail(ctx, GatewayError.from(cause))
  } finally {
    phases.account(ctx) // success, failure and abort all end here
  }
}

/** Runs the steps of a request that the gateway answers without an upstream. */
export async function handleLocally(
  ctx: RequestContext,
  phases: Phases,
  answer: (ctx: RequestContext) => void | Promise<void>,
): Promise<void> {
  try {
    await phases.authenticate(ctx)
    await phases.admit(ctx)
    await answer(ctx)
  } catch (cause) {
    phases.fail(ctx, GatewayError.from(cause))
  } finally {
    phases.account(ctx)
  }
}
