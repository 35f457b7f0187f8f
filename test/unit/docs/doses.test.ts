import { readFile, readdir } from 'node:fs/promises'
import { fileURLToPath } from 'node:url'
import { expect, it } from 'vitest'

const TESTS = fileURLToPath(new URL('../../', import.meta.url))
const CALL = /\bdose\(\s*'(\w+)',\s*\{\s*short: ([^,]+),\s*long: ([^,}]+?),?\s*\}/g
const ROW = /^\| `(\w+)` +\| .+ \| +([\d ]+) \| +([\d ]+|all) \|$/gm

it('lists every dose of the tests in the README, with its figures', async () => {
  const page = await readFile(`${TESTS}README.md`, 'utf8')
  const listed = new Map([...page.matchAll(ROW)].map(([, name, short, long]) => [name, [figure(short), figure(long)]]))
  const files = (await readdir(TESTS, { recursive: true })).filter(
    (name) => /\.ts$/.test(name) && !/dose|tiers/.test(name),
  )
  const sources = await Promise.all(files.map((name) => readFile(TESTS + name, 'utf8')))
  const used = sources.flatMap((source) => [...source.matchAll(CALL)])
  expect(new Set(used.map(([, name]) => name))).toEqual(new Set(listed.keys()))
  for (const [, name, short, long] of used) {
    const [listedShort, listedLong] = listed.get(name) ?? []
    expect([name, figure(short) ?? listedShort, figure(long) ?? listedLong]).toEqual([name, listedShort, listedLong])
  }
})

/** Undefined for an expression. */
function figure(text = ''): string | undefined {
  return /^[\d_ ]+$/.test(text) ? text.replaceAll(/[_ ]/g, '') : undefined
}
