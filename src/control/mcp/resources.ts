import { readdir, readFile } from 'node:fs/promises'
import { keyAllows } from './callers.ts'
import type { McpCaller } from './callers.ts'
import type { ModelList } from './model-list.ts'

/** A resource, as `resources/list` shows it. */
export interface Resource {
  readonly uri: string
  readonly name: string
  readonly title: string
  readonly description: string
  readonly mimeType: string
}

export interface ResourceText {
  readonly uri: string
  readonly mimeType: string
  readonly text: string
}

const MODELS = 'sluice://models'
const PRICES = 'sluice://prices'
const PAGES = 'sluice://docs/'
const PAGE = /^([a-z][a-z0-9-]{0,63})\.md$/

/** `npm pack` copies the pages beside the code; a checkout has them at its root. */
const FOLDERS = [new URL('../../docs/', import.meta.url), new URL('../../../docs/', import.meta.url)]

/** The resources of the server: models, prices, the documentation. */
export class Resources {
  readonly #models: ModelList
  #pages: Promise<ReadonlyMap<string, string>> | null = null

  constructor(models: ModelList) {
    this.#models = models
  }

  async list(caller: McpCaller): Promise<Resource[]> {
    const json = 'application/json'
    const models = [
      {
        uri: MODELS,
        name: 'models',
        title: 'Models',
        description: 'The models that you may ask for, with their limits and prices.',
        mimeType: json,
      },
      {
        uri: PRICES,
        name: 'prices',
        title: 'Price list',
        description: 'The prices of these models.',
        mimeType: json,
      },
    ]
    const pages = [...(await this.#documentation())].map(([name, text]) => ({
      uri: `${PAGES}${name}`,
      name: `docs/${name}`,
      title: titleOf(text) ?? name,
      description: `A page of the documentation of the gateway.`,
      mimeType: 'text/markdown',
    }))
    return [...(maySeeModels(caller) ? models : []), ...pages]
  }

  /** Null: the caller has no such resource. */
  async read(caller: McpCaller, uri: string): Promise<ResourceText | null> {
    const allowed = caller.kind === 'key' ? caller.key.models : null
    if ((uri === MODELS || uri === PRICES) && maySeeModels(caller)) {
      const value = uri === MODELS ? this.#models.list(allowed) : this.#models.prices(allowed)
      return { uri, mimeType: 'application/json', text: JSON.stringify(value) }
    }
    if (!uri.startsWith(PAGES)) return null
    const text = (await this.#documentation()).get(uri.slice(PAGES.length))
    return text === undefined ? null : { uri, mimeType: 'text/markdown', text }
  }

  #documentation(): Promise<ReadonlyMap<string, string>> {
    this.#pages ??= readPages()
    return this.#pages
  }
}

function maySeeModels(caller: McpCaller): boolean {
  return caller.kind === 'user' || keyAllows(caller.key, 'list_models')
}

async function readPages(): Promise<ReadonlyMap<string, string>> {
  for (const folder of FOLDERS) {
    const files = await readdir(folder).catch(() => [])
    const names = files.flatMap((file) => PAGE.exec(file)?.[1] ?? []).sort()
    if (names.length === 0) continue
    const texts = await Promise.all(names.map((name) => readFile(new URL(`${name}.md`, folder), 'utf8')))
    return new Map(names.map((name, index) => [name, texts[index] ?? '']))
  }
  return new Map()
}

function titleOf(markdown: string): string | null {
  return /^# (.+)$/m.exec(markdown)?.[1] ?? null
}
