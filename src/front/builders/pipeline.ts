import { dialectOf } from '../../dialects/codecs.ts'
import type { Config } from '../../shared/config/shape.ts'
import type { CacheShare } from '../../shared/core/health.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { PriceBook } from '../../shared/core/price-book.ts'
import { Accountant } from '../accounting/account.ts'
import { createPhases } from '../gateway/phases.ts'
import type { PhaseParts, Phases } from '../gateway/phases.ts'
import { ServiceTranslator } from '../gateway/service-translator.ts'
import { TokenCounts } from '../gateway/token-counts.ts'
import { Translator } from '../gateway/translator.ts'
import type { Overload } from '../overload/overload.ts'
import { RetryBudget } from '../scheduling/retry-budget.ts'
import type { Scheduler } from '../scheduling/scheduler.ts'
import { createValidator } from '../validation/validate.ts'
import { WorkerPool } from '../workers/pool.ts'
import type { FrontBase } from './base.ts'
import type { FrontCaptures } from './captures.ts'
import type { FrontJournal } from './journal.ts'
import type { FrontLimits } from './limits.ts'
import type { FrontUpstreams } from './upstreams.ts'
import type { FrontVideos } from './videos.ts'

/** The control process ends a chat itself before the front gives it up. */
const CHAT_MARGIN_MS = 15_000

export interface PipelineNeeds {
  readonly journal: FrontJournal
  readonly limits: FrontLimits
  readonly upstreams: FrontUpstreams
  readonly scheduler: Scheduler
  readonly videos: FrontVideos
  readonly captures: FrontCaptures
  readonly overload: Overload
  readonly isReady: () => boolean
}

export interface FrontPipeline {
  readonly phases: Phases
  readonly pool: WorkerPool
  readonly prices: PriceBook
  /** Prompt tokens since the last call, and how many of them providers had cached. */
  takeCacheShare(): CacheShare
  /** Takes the fallbacks of another configuration. */
  useFallbacks(fallbacks: Config['fallbacks']): void
}

export function buildPipeline(base: FrontBase, needs: PipelineNeeds): FrontPipeline {
  const { config, logger, clock, deadlines, requestMetrics, link } = base
  const { limits, upstream, workers } = config
  const { journal, scheduler, isReady } = needs
  const chatMs = config.mcp.chats.maxMs + CHAT_MARGIN_MS
  const bodyLimits = { maxDepth: limits.maxJsonDepth, maxElements: limits.maxJsonElements }
  const pool = new WorkerPool({ threads: workers.threads, maxQueue: workers.maxQueue, bodyLimits })
  const prices = new PriceBook()
  const fallbacks = new Map(Object.entries(config.fallbacks))
  let cacheShare = { promptTokens: 0, cachedTokens: 0 }
  const onFault = (cause: unknown): void => {
    logger.warn({ err: cause }, 'tokens were estimated, not counted')
  }
  const phases = createPhases({
    ...bodyHandling(pool, workers.inlineMaxBytes, bodyLimits),
    clock,
    deadlines,
    authenticator: needs.limits.authenticator,
    newcomers: needs.limits.newcomers,
    limits: needs.limits.admissions,
    addressFailures: needs.limits.addressFailures,
    scheduler,
    journal: journal.journal,
    prices,
    accountant: new Accountant(journal.journal, clock, prices, ({ promptTokens, cachedTokens }) => {
      cacheShare.promptTokens += promptTokens
      cacheShare.cachedTokens += cachedTokens
    }),
    upstream: needs.upstreams.client,
    credentials: needs.upstreams.credentials,
    dialectOf,
    isReady,
    vendor: config.server.vendor,
    retryBudget: new RetryBudget(upstream.retryBudget),
    maxAttempts: upstream.maxAttempts,
    maxQueueWaitMs: upstream.queueWaitMs,
    mayQueue: () => needs.overload.mayQueue,
    fallbacks,
    maxAnswerBytes: limits.maxAnswerBytes,
    defaultOutputTokens: limits.defaultOutputTokens,
    allowUnpriced: config.money.allowUnpriced,
    videos: needs.videos.videos,
    captures: needs.captures.captures,
    tokenCounts: new TokenCounts({ pool, clock, routes: scheduler, onFault }),
    converse: async (exchange, requestId, refuse) => {
      if (config.mcp.enabled) await link.tunnel.forward(exchange, requestId, refuse, chatMs)
      else
        refuse(new GatewayError('UNSUPPORTED_FIELD', { param: '/tools', message: 'This gateway has no tool servers.' }))
    },
    metrics: requestMetrics,
    logger: logger.child('gateway'),
  })
  const takeCacheShare = (): CacheShare => {
    const share = cacheShare
    cacheShare = { promptTokens: 0, cachedTokens: 0 }
    return share
  }
  const useFallbacks = (next: Config['fallbacks']): void => {
    fallbacks.clear()
    for (const [model, others] of Object.entries(next)) fallbacks.set(model, others)
  }
  return { phases, pool, prices, takeCacheShare, useFallbacks }
}

type BodyHandling = Pick<PhaseParts, 'checkBody' | 'translator' | 'services' | 'readAnswer'>

/** Small bodies are handled here and now, large ones in the pool. */
function bodyHandling(
  pool: WorkerPool,
  inlineMaxBytes: number,
  bodyLimits: Parameters<typeof createValidator>[0],
): BodyHandling {
  const validator = createValidator(bodyLimits)
  const translator = new Translator(pool, inlineMaxBytes)
  const services = new ServiceTranslator(pool, inlineMaxBytes)
  return {
    translator,
    services,
    checkBody: (endpoint, bytes) =>
      bytes.length > inlineMaxBytes ? pool.checkBody(endpoint, bytes) : validator.validate(endpoint, bytes),
    readAnswer: ({ dialect, body: request, translation, reading }, body) => {
      if (translation !== null) return translator.answer(translation, body)
      if (reading !== null) return services.answer(reading, body)
      return body.length > inlineMaxBytes
        ? pool.readAnswer(dialect.name, request, body)
        : dialect.readAnswer(body, request)
    },
  }
}
