import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** A fenced block of commands of a page. */
export interface CommandBlock {
  readonly page: string
  readonly line: number
  readonly commands: string
  /** Programs and environment variables that the block needs. */
  readonly needs: readonly string[]
  /** The block runs while the gateway is stopped. */
  readonly isStopped: boolean
  /** Files that run these commands in place of the test of the page. */
  readonly elsewhere: readonly string[]
}

const FENCE = /^```(\w*)[ \t]*([^\n]*)\n([\s\S]*?)^```$/gm
const SHELL = new Set(['sh', 'bash', 'shell', 'console', 'zsh'])

/** The pages whose commands a test runs: those in the root folder and in `docs/`. */
export function pages(root: string): string[] {
  const inRoot = readdirSync(root).filter((name) => name.endsWith('.md'))
  const inDocs = readdirSync(join(root, 'docs')).filter((name) => name.endsWith('.md'))
  return [...inRoot, ...inDocs.map((name) => `docs/${name}`)].sort()
}

/**
 * The blocks of shell commands of a page. Words after `sh` say how the block runs: `stopped`, `needs=NAME,NAME`, `elsewhere=FILE,FILE`.
 * Throws on any other word, and on a shell block that is not marked `sh`.
 */
export function commandBlocks(root: string, page: string): CommandBlock[] {
  const text = readFileSync(join(root, page), 'utf8')
  return [...text.matchAll(FENCE)].flatMap((match) => {
    const [, language = '', info = '', commands = ''] = match
    if (!SHELL.has(language)) return []
    const line = text.slice(0, match.index).split('\n').length
    if (language !== 'sh') throw new Error(`${page}:${line}: commands are marked "sh", not "${language}"`)
    return [{ page, line, commands, ...marks(info, `${page}:${line}`) }]
  })
}

function marks(info: string, at: string): Pick<CommandBlock, 'needs' | 'isStopped' | 'elsewhere'> {
  let needs: string[] = []
  let isStopped = false
  let elsewhere: string[] = []
  for (const word of info.split(' ').filter((word) => word !== '')) {
    const [name, value = ''] = word.split('=')
    if (name === 'needs') needs = value.split(',')
    else if (name === 'elsewhere') elsewhere = value.split(',')
    else if (name === 'stopped') isStopped = true
    else throw new Error(`${at}: "${word}" is not known behind "sh"`)
  }
  return { needs, isStopped, elsewhere }
}
