import type { RequestContext } from '../../shared/core/request-context.ts'

const NONE: readonly string[] = []

/** The models that replace `model` when none of its keys can serve, best first: those that the client's key may use. */
export function allowedFallbacks(
  { principal }: Pick<RequestContext, 'principal'>,
  model: string,
  fallbacks: ReadonlyMap<string, readonly string[]>,
): readonly string[] {
  const all = fallbacks.get(model) ?? NONE
  const allowed = principal?.models ?? null
  return allowed === null ? all : all.filter((fallback) => allowed.has(fallback))
}
