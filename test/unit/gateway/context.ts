import { ENDPOINTS } from '../../../src/shared/endpoints/index.ts'
import type { Endpoint } from '../../../src/shared/core/endpoint.ts'
import type { RequestBody } from '../../../src/shared/core/request-body.ts'
import { RequestContext } from '../../../src/shared/core/request-context.ts'
import { FakeExchange } from '../../support/fake-exchange.ts'

export const BODY: RequestBody = {
  bytes: Buffer.from('{}'),
  members: [],
  model: 'm',
  stream: true,
  wantsUsage: false,
  maxOutputTokens: null,
  choices: 1,
  namesServers: false,
  estimatedPromptTokens: 40,
  affinity: null,
  expected: null,
  tags: null,
}

export function makeContext(endpoint: Endpoint = ENDPOINTS.chat): { ctx: RequestContext; exchange: FakeExchange } {
  const exchange = new FakeExchange({ method: 'POST' })
  const ctx = new RequestContext('req_1', 1_000, 5_000, endpoint, exchange)
  ctx.body = BODY
  return { ctx, exchange }
}
