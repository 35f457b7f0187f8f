import { createHash } from 'node:crypto'

/** Model providers take names of at most this length. */
const MAX_NAME = 64
const HASH_CHARACTERS = 8

/**
 * The names under which clients know the tools of a server: `<server>__<tool>`. A name that providers would refuse, or that is too long,
 * is changed and gets a hash of its own name. A tool whose name would be that of another one is left out.
 */
export function toolNames(serverId: string, tools: Iterable<string>): ReadonlyMap<string, string> {
  const names = new Map<string, string>()
  const taken = new Set<string>()
  const all = [...tools]
  // Names that stay as they are come first, so that no other tool can take them.
  const [plain, others] = [
    all.filter((tool) => isPlain(serverId, tool)),
    all.filter((tool) => !isPlain(serverId, tool)),
  ]
  for (const tool of [...plain, ...others]) {
    const name = nameOf(serverId, tool)
    if (taken.has(name)) continue
    taken.add(name)
    names.set(tool, name)
  }
  return names
}

function nameOf(serverId: string, tool: string): string {
  const full = `${serverId}__${tool}`
  if (isPlain(serverId, tool)) return full
  const hash = createHash('sha256').update(tool).digest('hex').slice(0, HASH_CHARACTERS)
  const cut = full.replace(/[^A-Za-z0-9_-]/g, '_').slice(0, MAX_NAME - HASH_CHARACTERS - 1)
  return `${cut}_${hash}`
}

function isPlain(serverId: string, tool: string): boolean {
  return /^[A-Za-z0-9_-]+$/.test(tool) && serverId.length + 2 + tool.length <= MAX_NAME
}
