import type { Clock } from '../../shared/runtime/clock.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Provider, UpstreamTimeouts } from '../../shared/core/snapshot.ts'

/** An attempt that would have less than this is not made: it would be billed and come to nothing. */
const LEAST_MS = 100

/** The provider's timeouts, less the time that earlier attempts of this request have taken. */
export function remainingTimeouts(ctx: RequestContext, { timeouts }: Provider, clock: Clock): UpstreamTimeouts {
  if (ctx.attempts.length === 0) return timeouts
  return { ...timeouts, totalMs: Math.max(LEAST_MS, timeouts.totalMs - spentMs(ctx, clock)) }
}

/** Whether the attempts of this request have taken all the time that its provider may take. */
export function isTimeSpent(ctx: RequestContext, { timeouts }: Provider, clock: Clock): boolean {
  return spentMs(ctx, clock) + LEAST_MS > timeouts.totalMs
}

/** Since the first attempt began. */
function spentMs({ attempts, startUs }: RequestContext, clock: Clock): number {
  const [first] = attempts
  return first === undefined ? 0 : (clock.monotonicUs() - startUs - first.startUs) / 1000
}
