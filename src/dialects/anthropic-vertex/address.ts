import type { VertexPlace } from '../gemini/address.ts'

/** Path of a call, below the host of the location. */
export function vertexMessagesPath(model: string, stream: boolean, { project, location }: VertexPlace): string {
  const operation = stream ? 'streamRawPredict' : 'rawPredict'
  const place = `projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
  // `@` separates the version. The service takes it unencoded.
  return `/v1/${place}/publishers/anthropic/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${operation}`
}
