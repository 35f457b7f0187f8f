import { cpus } from 'node:os'
import { parseArgs } from 'node:util'
import type { Browser, BrowserContext, Page } from 'playwright-core'
import type { Gateway } from '../../src/cli/bench/programs.ts'
import { openPostgres } from '../../src/control/store/postgres-database.ts'
import { openBrowser } from '../../test/support/chromium.ts'
import { startPostgres } from '../../test/support/postgres.ts'
import { fillLog } from '../support/filled-log.ts'
import { startGateway, startSimulator } from '../support/programs.ts'
import { median, percentile } from '../support/statistics.ts'

const { values } = parseArgs({
  options: {
    rows: { type: 'string', default: '1000000' },
    days: { type: 'string', default: '30' },
    runs: { type: 'string', default: '9' },
    /** Seconds of scrolling. */
    seconds: { type: 'string', default: '10' },
    /** The factor by which the processor is slowed for a first load. */
    slower: { type: 'string', default: '4' },
  },
})
const runs = Number(values.runs)

/** The promised bounds. */
const MAX_LIST_MS = 1_000
const MAX_OVERVIEW_MS = 1_000
const MAX_FIRST_LOAD_MS = 3_000
const MAX_FRAME_MS = 50

const KEYS = 300
/** Per frame: 2,160 px, which are 60 rows, a second at 60 frames. */
const SCROLL_PX = 36
const DEADLINE_MS = 60_000
const VIEWPORT = { width: 1280, height: 800 }
const LIST = '/console/platform/requests?range=30d'

/** Measures the console in a browser, over a request log on Postgres. */
async function main(): Promise<boolean> {
  console.log(`node ${process.version}, ${cpus().length} × ${cpus()[0]?.model ?? 'unknown'}`)
  const postgres = await startPostgres()
  const url = await postgres.createDatabase()
  const simulator = await startSimulator()
  const gateway = await startGateway({ upstreamBaseUrl: simulator.baseUrl, config: { database: { url } } })
  const browser = await openBrowser()
  try {
    const database = openPostgres({ url, statementTimeoutMs: 600_000 })
    const filling = { rows: Number(values.rows), days: Number(values.days), keys: KEYS, endMs: Date.now() }
    await fillLog(database, filling)
    await database.close()
    const held = [
      await lists(browser, gateway),
      await scrolling(browser, gateway),
      await overview(gateway),
      // The last one: Postgres tidies up for a while after the fill, and the browser needs the processor.
      await firstLoads(browser, gateway),
    ]
    return held.every(Boolean)
  } finally {
    await browser.close()
    await gateway.stop()
    await simulator.stop()
    await postgres.stop()
  }
}

/** From nothing in the browser until the first rows are drawn, on a slower processor. */
async function firstLoads(browser: Browser, gateway: Gateway): Promise<boolean> {
  const took: number[] = []
  for (let run = 0; run < runs; run++) {
    const { context, page } = await loggedIn(browser, gateway)
    const devtools = await context.newCDPSession(page)
    await devtools.send('Emulation.setCPUThrottlingRate', { rate: Number(values.slower) })
    await page.goto(`${gateway.url}${LIST}`, { waitUntil: 'commit' })
    took.push(await drawn(page))
    await context.close()
  }
  return report(`first load, processor ${values.slower} times slower`, took, MAX_FIRST_LOAD_MS)
}

/** From a click on the navigation, or a new filter, until its rows are drawn. */
async function lists(browser: Browser, gateway: Gateway): Promise<boolean> {
  const opened: number[] = []
  const filtered: number[] = []
  for (let run = 0; run < runs; run++) {
    const { context, page } = await loggedIn(browser, gateway)
    await page.goto(`${gateway.url}/console/keys`)
    await page.getByRole('heading', { level: 1 }).waitFor()
    opened.push(
      await timed(
        page,
        '/console/platform/requests',
        `document.querySelector('[data-id] [data-name="model"]') !== null`,
      ),
    )
    filtered.push(
      await timed(page, `/console/platform/requests?range=30d&model=model-${run % 5}`, `isOf('model-${run % 5}')`),
    )
    await context.close()
  }
  const held = report('request log opened', opened, MAX_LIST_MS)
  return report('request log filtered', filtered, MAX_LIST_MS) && held
}

/** Goes to a path of the console as its links do; resolves to the milliseconds until the condition holds and a frame was drawn. */
async function timed(page: Page, path: string, condition: string): Promise<number> {
  return page.evaluate<number>(`new Promise((resolve) => {
    const isOf = (model) => {
      const shown = [...document.querySelectorAll('[data-id] [data-name="model"]')]
      return shown.length > 0 && shown.every(({ textContent }) => textContent === model)
    }
    const began = performance.now()
    history.pushState(null, '', ${JSON.stringify(path)})
    const look = () => {
      if (${condition}) requestAnimationFrame(() => resolve(performance.now() - began))
      else requestAnimationFrame(look)
    }
    look()
  })`)
}

interface Frames {
  readonly lengths: readonly number[]
  /** Frames with a row in sight that was not loaded. */
  readonly gaps: number
  readonly lastRow: number
}

/** Scrolls the request log at a steady pace, and looks at each frame. */
async function scrolling(browser: Browser, gateway: Gateway): Promise<boolean> {
  const { context, page } = await loggedIn(browser, gateway)
  await page.goto(`${gateway.url}${LIST}`)
  await drawn(page)
  await page.waitForLoadState('networkidle')
  const { lengths, gaps, lastRow } = await page.evaluate<Frames>(`new Promise((resolve) => {
    const list = document.querySelector('[role="table"]')
    const lengths = []
    let [gaps, before] = [0, performance.now()]
    const end = before + ${Number(values.seconds) * 1_000}
    const step = (now) => {
      lengths.push(now - before)
      before = now
      const { top, bottom } = list.getBoundingClientRect()
      const isGap = [...list.querySelectorAll('[role="presentation"]')].some((row) => {
        const box = row.getBoundingClientRect()
        return box.bottom > top && box.top < bottom
      })
      // Below the last row there is nothing but the list's end.
      const isEnd = list.scrollTop + list.clientHeight >= list.scrollHeight - 1
      if (isGap || isEnd) gaps += 1
      if (now >= end) {
        const rows = [...list.querySelectorAll('[aria-rowindex]')]
        resolve({ lengths: lengths.slice(1), gaps, lastRow: Number(rows.at(-1)?.getAttribute('aria-rowindex') ?? 0) })
        return
      }
      list.scrollTop += ${SCROLL_PX}
      requestAnimationFrame(step)
    }
    requestAnimationFrame(step)
  })`)
  await context.close()
  const longest = percentile([...lengths], 1)
  const perSecond = 1_000 / (lengths.reduce((sum, ms) => sum + ms, 0) / lengths.length)
  console.log(
    `scrolled to row ${lastRow}: ${perSecond.toFixed(1)} frames a second, p95 ${percentile([...lengths], 0.95).toFixed(1)} ms, ` +
      `longest ${longest.toFixed(1)} ms, ${gaps} frames with a gap: ${verdict(longest <= MAX_FRAME_MS && gaps === 0)}`,
  )
  return longest <= MAX_FRAME_MS && gaps === 0
}

/** The calls that an overview of the platform makes at the same time. */
async function overview(gateway: Gateway): Promise<boolean> {
  const period = `period=${values.days}d`
  const paths = [
    `/v1/admin/dashboard?${period}`,
    `/v1/admin/stats/usage?${period}&group_by=model`,
    `/v1/admin/stats/usage?${period}&group_by=key`,
    `/v1/admin/stats/keys?${period}`,
    `/v1/admin/stats/relay?${period}`,
  ]
  const headers = { authorization: `Bearer ${gateway.admin.token}` }
  const read = async (path: string): Promise<void> => {
    const answer = await fetch(`${gateway.url}${path}`, { headers })
    if (!answer.ok) throw new Error(`${path}: ${answer.status} ${await answer.text()}`)
    await answer.arrayBuffer()
  }
  for (const path of paths) report(path, await times(() => read(path)), MAX_OVERVIEW_MS)
  const together = await times(() => Promise.all(paths.map(read)))
  return report(`overview of ${values.days} days, ${paths.length} calls at once`, together, MAX_OVERVIEW_MS)
}

async function times(work: () => Promise<unknown>): Promise<number[]> {
  const took: number[] = []
  for (let run = 0; run < runs; run++) {
    const beganMs = performance.now()
    await work()
    took.push(performance.now() - beganMs)
  }
  return took
}

async function loggedIn(
  browser: Browser,
  { admin }: Gateway,
): Promise<{ readonly context: BrowserContext; readonly page: Page }> {
  const context = await browser.newContext({ viewport: VIEWPORT, locale: 'en-GB' })
  await context.addInitScript(`localStorage.setItem('sluice.token', ${JSON.stringify(admin.token)})`)
  return { context, page: await context.newPage() }
}

/** Milliseconds from the beginning of the navigation until a row of the log was drawn. */
async function drawn(page: Page): Promise<number> {
  await page.waitForSelector('[data-id]', { timeout: DEADLINE_MS })
  return page.evaluate<number>('new Promise((resolve) => requestAnimationFrame(() => resolve(performance.now())))')
}

function report(what: string, took: readonly number[], promisedMs: number): boolean {
  const middle = median([...took])
  console.log(
    `${what}: median ${middle.toFixed(0)} ms, longest ${percentile([...took], 1).toFixed(0)} ms: ${verdict(middle <= promisedMs)}`,
  )
  return middle <= promisedMs
}

function verdict(isHeld: boolean): string {
  return isHeld ? 'ok' : 'NOT HELD'
}

process.exitCode = (await main()) ? 0 : 1
