import type { Clock } from '../../shared/runtime/clock.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import type { Provider, UpstreamTimeouts } from '../../shared/core/snapshot.ts'

/** No attempt begins with less time left than this: it would fail and still be billed. */
const LEAST_MS = 100

/** The provider's timeouts. `totalMs` is reduced by the time that earlier attempts of this request have taken. */
export function remainingTimeouts(ctx: RequestContext, { timeouts }: Provider, clock: Clock): UpstreamTimeouts {
  if (ctx.attempts.length === 0) return timeouts
  return { ...timeouts, totalMs: Math.max(LEAST_MS, timeouts.totalMs - spentMs(ctx, clock)) }
}

/** Whether the attempts of this request have used up the total timeout of the provider. */
export function isTimeSpent(ctx: RequestContext, { timeouts }: Provider, clock: Clock): boolean {
  return spentMs(ctx, clock) + LEAST_MS > timeouts.totalMs
}

/** The time since the first attempt began. */
function spentMs({ attempts, startUs }: RequestContext, clock: Clock): number {
  const [first] = attempts
  return first === undefined ? 0 : (clock.monotonicUs() - startUs - first.startUs) / 1000
}
