import type { Endpoint } from '../../shared/core/endpoint.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { RequestContext } from '../../shared/core/request-context.ts'
import { CAPTURES_RESULT_HEADER, TOOL_CALL_HEADER } from '../../shared/core/tool-call.ts'
import type { ToolCallOrder, ToolCallReport } from '../../shared/core/tool-call.ts'
import type { Clock } from '../../shared/runtime/clock.ts'
import type { Captures } from '../capture/captures.ts'
import { requestIdFields } from './answer-headers.ts'
import type { Phases } from './phases.ts'

/** Its errors are read by the control process. */
export const TOOL_CALL: Endpoint = {
  name: 'tools.call',
  dialect: 'openai-chat',
  servedBy: 'openai-chat',
  bodies: 'openai-chat',
  countsTokens: false,
  beginsJob: false,
}

/**
 * Runs the steps of a tool call, which the control process makes: it may begin once the head of the answer has left, and the answer
 * ends once its end record is durable.
 */
export async function handleToolCall(
  ctx: RequestContext,
  phases: Phases,
  { clock, captures }: { readonly clock: Clock; readonly captures: Captures },
): Promise<void> {
  const { exchange } = ctx
  const { request, reported } = exchange
  try {
    await phases.authenticate(ctx)
    await phases.admit(ctx)
    const order = JSON.parse(request.headers[TOOL_CALL_HEADER] ?? '') as ToolCallOrder
    if (reported === undefined) throw new GatewayError('INTERNAL')
    ctx.model = order.tool
    ctx.served = { providerId: `mcp:${order.serverId}`, upstreamKeyId: null, model: order.serverTool }
    const capture = ctx.principal?.capture ?? null
    if (capture !== null) captures.begin(ctx, capture)
    const { length: argumentBytes } = await ctx.exchange.readBody()
    await ctx.reservation?.reserve(0, clock.now(), order.priceMicro, order.tool)
    await phases.begin(ctx)
    // Unless the server is known to have given no result, the call is paid.
    ctx.toolCall = { costMicro: order.priceMicro, argumentBytes, resultBytes: null }
    const isCaptured = ctx.exchange !== exchange && capture?.answers === true
    const report = await endOf(ctx, { reported, isCaptured, clock })
    const costMicro = report.resultBytes === null ? 0 : order.priceMicro
    ctx.toolCall = { costMicro, argumentBytes, resultBytes: report.resultBytes }
    answer(ctx, report)
  } catch (cause) {
    phases.fail(ctx, GatewayError.from(cause))
  } finally {
    phases.account(ctx)
  }
}

/** Lets the call begin, and waits for its end. Rejects with CLIENT_CLOSED. */
async function endOf(
  ctx: RequestContext,
  {
    reported,
    isCaptured,
    clock,
  }: { readonly reported: Promise<ToolCallReport>; readonly isCaptured: boolean; readonly clock: Clock },
): Promise<ToolCallReport> {
  const { response } = ctx.exchange
  const sinceUs = clock.monotonicUs()
  ctx.waitingSinceUs = sinceUs
  try {
    response.start(200, [
      ['Content-Type', 'application/json'],
      ...requestIdFields(ctx.endpoint.dialect, ctx.id),
      ...(isCaptured ? [[CAPTURES_RESULT_HEADER, 1] as const] : []),
    ])
    return await new Promise((resolve, reject) => {
      response.onAbort(() => {
        reject(new GatewayError('CLIENT_CLOSED'))
      })
      void reported.then(resolve)
    })
  } finally {
    ctx.waitedUs += clock.monotonicUs() - sinceUs
    ctx.waitingSinceUs = null
  }
}

function answer(ctx: RequestContext, { error, resultBytes, result }: ToolCallReport): void {
  const { response } = ctx.exchange
  const failure = error === null ? null : new GatewayError(error.code, { message: error.message })
  if (failure !== null && resultBytes === null) ctx.outcome.refused(failure)
  else {
    ctx.outcome.answered()
    if (failure !== null) ctx.outcome.broken(failure)
  }
  ctx.finishWith(() => {
    // Nobody reads it here: it is captured on its way.
    response.end(result === null ? undefined : Buffer.from(result))
  })
}
