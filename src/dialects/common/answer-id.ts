import { cleaned } from './tool-ids.ts'

/** The answer's id with the prefix of the client's dialect. `fallback` replaces an id that the upstream did not give. */
export function answerId(prefix: string, id: string, fallback: string): string {
  if (id.startsWith(prefix)) return id
  if (id === '') return prefix + fallback
  return prefix + cleaned(id.startsWith('msg_') ? id.slice(4) : id.startsWith('chatcmpl-') ? id.slice(9) : id, true)
}
