import type { Restoration, ToolAlias } from '../../shared/core/codec.ts'
import { ToolNames } from '../common/tool-names.ts'

const MAX_NAME_LENGTH = 64

/** Tool names as the service accepts them: none begins with a digit or a hyphen. */
export class GeminiToolNames {
  readonly #names = new ToolNames()
  readonly #prefixed = new Map<string, ToolAlias>()

  upstream(name: string): string {
    return this.#prefix(this.#names.upstream(name), { name, kind: 'function' })
  }

  declare(name: string, kind: 'custom' | 'legacy'): string {
    return this.#prefix(this.#names.declare(name, kind), { name, kind })
  }

  get restoration(): Restoration | null {
    const { restoration } = this.#names
    if (this.#prefixed.size === 0) return restoration
    return { tools: { ...restoration?.tools, ...Object.fromEntries(this.#prefixed) }, answerTool: null }
  }

  #prefix(upstream: string, alias: ToolAlias): string {
    if (!/^[\d-]/.test(upstream)) return upstream
    const prefixed = `_${upstream.slice(0, MAX_NAME_LENGTH - 1)}`
    if (alias.kind !== 'function' || !this.#prefixed.has(prefixed)) this.#prefixed.set(prefixed, alias)
    return prefixed
  }
}
