import type { KeyHealthEvent } from '../../shared/core/key-health-event.ts'
import type { RedisCall } from '../store/redis-connection.ts'
import { redisScript } from '../store/redis-script.ts'
import type { ScriptRunner } from './script-runner.ts'

/** KEYS: the news. ARGV: field ('' for what is not kept), news, keep until, Unix milliseconds, channel, message, fields that go. */
const TELL = redisScript(`
if ARGV[1] ~= '' then
  if ARGV[3] == '0' then
    redis.call('HDEL', KEYS[1], unpack(ARGV, 6))
  else
    redis.call('HSET', KEYS[1], ARGV[1], ARGV[3] .. ' ' .. ARGV[2])
    redis.call('PEXPIRE', KEYS[1], 86400000)
  end
end
redis.call('PUBLISH', ARGV[4], ARGV[5])
return 1
`)

/** KEYS: the news. Answers what still holds, and drops the rest. */
const LIST = redisScript(`
local t = redis.call('TIME')
local now = t[1] * 1000 + math.floor(t[2] / 1000)
local current = {}
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  local untilMs, news = string.match(all[i + 1], '^(%d+) (.*)$')
  if tonumber(untilMs) > now then current[#current + 1] = news else redis.call('HDEL', KEYS[1], all[i]) end
end
return current
`)

const LIST_EVERY_MS = 2_000
const MOST_UNTOLD = 1_000

export interface KeyHealthExchangeOptions {
  readonly runner: ScriptRunner
  readonly prefix: string
  readonly node: string
  /** Another machine has learned something about an upstream key. */
  readonly onNews: (news: KeyHealthEvent) => void
}

/**
 * What is known of upstream keys, told to the other machines and heard from them: at once by a message, within seconds from what
 * is kept in Redis.
 */
export class KeyHealthExchange {
  readonly #options: KeyHealthExchangeOptions
  /** The latest of each key and kind, told or heard. */
  readonly #known = new Map<string, KeyHealthEvent>()
  #untold: KeyHealthEvent[] = []
  #listAtMs = 0
  #busy = false

  constructor(options: KeyHealthExchangeOptions) {
    this.#options = options
  }

  get channel(): string {
    return `${this.#options.prefix}:key-news`
  }

  tell(news: KeyHealthEvent): void {
    for (const field of endedBy(news)) this.#known.delete(field)
    this.#known.set(fieldOf(news), news)
    this.#untold.push(news)
    if (this.#untold.length > MOST_UNTOLD) this.#untold.shift()
  }

  heard(message: string): void {
    const { node, news } = JSON.parse(message) as { node: string; news: KeyHealthEvent }
    if (node !== this.#options.node) this.#learn(news)
  }

  /** Tells what has not been told, and looks what others know. To be called every few dozen milliseconds. */
  async tick(nowMs: number): Promise<void> {
    const lists = nowMs >= this.#listAtMs
    if (this.#busy || (!lists && this.#untold.length === 0)) return
    this.#busy = true
    if (lists) this.#listAtMs = nowMs + LIST_EVERY_MS
    const told = this.#untold.filter(({ untilMs, kind }) => untilMs > nowMs || kind === 'breaker-closed')
    this.#untold = []
    try {
      const calls = told.map((news) => this.#tellCall(news))
      if (lists) calls.push({ script: LIST, keys: [this.#key], args: [] })
      const answers = await this.#options.runner.run(calls)
      this.#untold.unshift(...told.filter((_, at) => answers[at] instanceof Error))
      const current = lists ? answers.at(-1) : null
      if (Array.isArray(current)) for (const text of current) this.#learn(JSON.parse(String(text)) as KeyHealthEvent)
      for (const [field, { untilMs }] of this.#known) if (untilMs <= nowMs) this.#known.delete(field)
    } finally {
      this.#busy = false
    }
  }

  get #key(): string {
    return `${this.#options.prefix}:{key-news}`
  }

  #tellCall(news: KeyHealthEvent): RedisCall {
    // What was shrunk grows again by use, and a closed breaker ends an open one: there is nothing to keep.
    const isKept = news.kind !== 'shrink'
    const untilMs = news.kind === 'breaker-closed' ? 0 : Math.ceil(news.untilMs)
    const message = JSON.stringify({ node: this.#options.node, news })
    return {
      script: TELL,
      keys: [this.#key],
      args: [
        isKept ? fieldOf(news) : '',
        JSON.stringify(news),
        String(untilMs),
        this.channel,
        message,
        ...endedBy(news),
      ],
    }
  }

  #learn(news: KeyHealthEvent): void {
    const field = fieldOf(news)
    const known = this.#known.get(field)
    if (known?.kind === news.kind && known.untilMs >= news.untilMs) return
    for (const ended of endedBy(news)) this.#known.delete(ended)
    if (news.kind !== 'breaker-closed' && news.kind !== 'shrink') this.#known.set(field, news)
    this.#options.onNews(news)
  }
}

/** A closed breaker takes the place of an open one. */
function fieldOf({ keyId, kind }: KeyHealthEvent): string {
  return `${keyId}/${kind === 'breaker-closed' ? 'breaker-open' : kind}`
}

/** The fields that no longer hold: a closed breaker also ends that the credential was refused. */
function endedBy({ keyId, kind }: KeyHealthEvent): string[] {
  return kind === 'breaker-closed' ? [`${keyId}/breaker-open`, `${keyId}/disabled`] : []
}
