/** How a resource is addressed; what stands ahead of that on its host is `prefix`. */
export type AzureApi =
  /** Each deployment has a path of its own, and the shape is that of a dated version. */
  | { readonly kind: 'deployments'; readonly apiVersion: string }
  /** The deployment is the body's model. */
  | { readonly kind: 'v1'; readonly apiVersion: string }
  /** Models of other makers: the body's model, and a dated version. */
  | { readonly kind: 'models'; readonly apiVersion: string }

const KINDS = [
  ['/openai/v1', 'v1'],
  ['/models', 'models'],
  // As some write the address of a resource.
  ['/openai', 'deployments'],
] as const

/** How a resource with this base path is addressed, where calls name a version. */
export function azureApi(pathname: string, apiVersion: string): { readonly prefix: string; readonly api: AzureApi } {
  for (const [ending, kind] of KINDS) {
    if (pathname.endsWith(ending)) return { prefix: pathname.slice(0, -ending.length), api: { kind, apiVersion } }
  }
  return { prefix: pathname, api: { kind: 'deployments', apiVersion } }
}

/**
 * Path and query of a call, below the prefix.
 * @param operation as OpenAI's own path has it, e.g. `/chat/completions`
 */
export function azurePath(api: AzureApi, deployment: string, operation: string): string {
  return `${placeOf(api, deployment)}${operation}?api-version=${encodeURIComponent(api.apiVersion)}`
}

function placeOf({ kind }: AzureApi, deployment: string): string {
  switch (kind) {
    case 'v1':
      return '/openai/v1'
    case 'models':
      return '/models'
    case 'deployments':
      return `/openai/deployments/${encodeURIComponent(deployment)}`
  }
}
