import { bearer } from '../credential-header.ts'
import type { CredentialHeader } from '../credential-header.ts'

export interface VertexMessagesPlace {
  readonly project: string
  readonly location: string
}

/** Path of a call, below the host of the location. */
export function vertexMessagesPath(model: string, stream: boolean, { project, location }: VertexMessagesPlace): string {
  const operation = stream ? 'streamRawPredict' : 'rawPredict'
  const place = `projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}`
  // Versions are set apart by `@`, which the service takes as it is.
  return `/v1/${place}/publishers/anthropic/models/${encodeURIComponent(model).replaceAll('%40', '@')}:${operation}`
}

/** For a token of Google's OAuth. */
export function vertexMessagesAuth(token: string): CredentialHeader {
  return bearer(token)
}
