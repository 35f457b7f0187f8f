/** The addressing scheme of a resource. The path before its own part is `prefix`. */
export type AzureApi =
  /** The path names the deployment; the API version is a date. */
  | { readonly kind: 'deployments'; readonly apiVersion: string }
  /** The body's `model` names the deployment. */
  | { readonly kind: 'v1'; readonly apiVersion: string }
  /** For models of other makers. The body's `model` names the model; the API version is a date. */
  | { readonly kind: 'models'; readonly apiVersion: string }

const KINDS = [
  ['/openai/v1', 'v1'],
  ['/models', 'models'],
  // Some write the address of a resource like this.
  ['/openai', 'deployments'],
] as const

/** Finds the addressing scheme of a base path, for calls that name an API version. */
export function azureApi(pathname: string, apiVersion: string): { readonly prefix: string; readonly api: AzureApi } {
  for (const [ending, kind] of KINDS) {
    if (pathname.endsWith(ending)) return { prefix: pathname.slice(0, -ending.length), api: { kind, apiVersion } }
  }
  return { prefix: pathname, api: { kind: 'deployments', apiVersion } }
}

/**
 * Path and query of a call, below the prefix.
 * @param operation the path that OpenAI uses, e.g. `/chat/completions`
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
