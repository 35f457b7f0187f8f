import { MAX_TAGS, MAX_TAG_LENGTH } from '../records/tag-limits.ts'

/** Names and values that a client gives its request: each name once, in the order in which they count. */
export type Tags = ReadonlyArray<readonly [name: string, value: string]>

/** The rest of the header's name is the name of the tag. */
export const TAG_HEADER = 'x-sluice-tag-'

/** The tags of a chat or responses request: `user`, then the members of `metadata`. Null: it has none. */
export function tagsOfBody(user: unknown, metadata: unknown): Tags | null {
  if (user === undefined && metadata === undefined) return null
  const tags: [string, string][] = []
  add(tags, 'user', user)
  if (typeof metadata === 'object' && metadata !== null) {
    for (const name in metadata) {
      if (tags.length === MAX_TAGS) break
      add(tags, name, (metadata as Record<string, unknown>)[name])
    }
  }
  return tags.length === 0 ? null : tags
}

/** The tag of a messages request: `user_id` of its `metadata`. Null: it has none. */
export function tagsOfMessages(metadata: unknown): Tags | null {
  if (typeof metadata !== 'object' || metadata === null) return null
  const tags: [string, string][] = []
  add(tags, 'user_id', (metadata as { readonly user_id?: unknown }).user_id)
  return tags.length === 0 ? null : tags
}

/** The tags of the headers, then those of the body. Null: there are none. @param headers names in lower case */
export function tagsOfRequest(headers: Readonly<Record<string, string | undefined>>, ofBody: Tags | null): Tags | null {
  const tags: [string, string][] = []
  for (const header in headers) {
    if (header.startsWith(TAG_HEADER)) add(tags, header.slice(TAG_HEADER.length), headers[header]?.trim())
  }
  for (const [name, value] of ofBody ?? []) add(tags, name, value)
  return tags.length === 0 ? null : tags
}

/** Only texts, numbers and booleans can be values. The first tag of a name counts. */
function add(tags: [string, string][], name: string, value: unknown): void {
  const text = typeof value === 'number' || typeof value === 'boolean' ? String(value) : value
  if (typeof text !== 'string' || text === '' || name === '' || name.length > MAX_TAG_LENGTH) return
  if (tags.length === MAX_TAGS || tags.some(([known]) => known === name)) return
  tags.push([name, cut(text)])
}

/** Cuts no character of two units in half. */
function cut(text: string): string {
  if (text.length <= MAX_TAG_LENGTH) return text
  const short = text.slice(0, MAX_TAG_LENGTH)
  return /[\uD800-\uDBFF]$/.test(short) ? short.slice(0, -1) : short
}
