import { bearer } from '../credential-header.ts'
import type { CredentialHeader } from '../credential-header.ts'

/** How a resource is addressed. */
export type AzureApi =
  /** Each deployment has a path of its own, and the shape is that of a dated version. */
  | { readonly kind: 'deployments'; readonly apiVersion: string }
  /** The deployment is the body's model. */
  | { readonly kind: 'v1' }
  /** Models of other makers: the body's model, and a dated version. */
  | { readonly kind: 'models'; readonly apiVersion: string }

export type AzureOperation = 'chat/completions' | 'embeddings' | 'images/generations'

/** Path and query of a call, below the host. */
export function azurePath(api: AzureApi, deployment: string, operation: AzureOperation): string {
  switch (api.kind) {
    case 'v1':
      return `/openai/v1/${operation}`
    case 'models':
      return `/models/${operation}?${versionOf(api.apiVersion)}`
    case 'deployments':
      return `/openai/deployments/${encodeURIComponent(deployment)}/${operation}?${versionOf(api.apiVersion)}`
  }
}

function versionOf(apiVersion: string): string {
  return `api-version=${encodeURIComponent(apiVersion)}`
}

/** @param kind a key of the resource, or a token of Entra ID */
export function azureAuth(kind: 'key' | 'token', credential: string): CredentialHeader {
  return kind === 'key' ? ['api-key', credential] : bearer(credential)
}
