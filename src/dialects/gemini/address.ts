/** The location of a model on Vertex AI. Null stands for the Gemini API. */
export interface VertexPlace {
  readonly project: string
  readonly location: string
}

export type GeminiOperation =
  | 'generateContent'
  | 'streamGenerateContent'
  | 'countTokens'
  | 'embedContent'
  | 'batchEmbedContents'
  | 'predict'
  | 'predictLongRunning'
  | 'fetchPredictOperation'

const VERSION = '/v1beta'
const VERTEX = /^\/v1\/projects\/([^/]+)\/locations\/([^/]+)/

/** A base URL with project and location belongs to Vertex AI. @param base its path */
export function vertexPlace(base: string): VertexPlace | null {
  const [, project, location] = VERTEX.exec(base) ?? []
  if (project === undefined || location === undefined) return null
  return { project: decodeURIComponent(project), location: decodeURIComponent(location) }
}

/** Path and query of a call. @param base path of the base URL, without a trailing slash */
export function googlePath(base: string, model: string, operation: GeminiOperation): string {
  const place = vertexPlace(base)
  const path = geminiPath(model, operation, place)
  return place === null ? versionedBase(base) + path.slice(VERSION.length) : path
}

/** Adds the version of the API unless the base URL names it. @param base its path, without a trailing slash */
export function versionedBase(base: string): string {
  return /\/v1(?:alpha|beta\d*)?$/.test(base) ? base : base + VERSION
}

/** Path and query of a call, below the host. */
export function geminiPath(model: string, operation: GeminiOperation, place: VertexPlace | null): string {
  const query = operation === 'streamGenerateContent' ? '?alt=sse' : ''
  return `${collection(model, place)}:${operation}${query}`
}

/** The host of a location; `global` has its own host. */
export function vertexHost({ location }: VertexPlace): string {
  return location === 'global'
    ? 'aiplatform.googleapis.com'
    : `${encodeURIComponent(location)}-aiplatform.googleapis.com`
}

/** The model's name may include its collection (`models/…`, `tunedModels/…`). */
function collection(model: string, place: VertexPlace | null): string {
  const slash = model.lastIndexOf('/')
  const name = encodeURIComponent(model.slice(slash + 1))
  if (place === null) return `${VERSION}/${model.startsWith('tunedModels/') ? 'tunedModels' : 'models'}/${name}`
  const { project, location } = place
  return `/v1/projects/${encodeURIComponent(project)}/locations/${encodeURIComponent(location)}/publishers/google/models/${name}`
}
