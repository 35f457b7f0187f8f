import type { Book, UpstreamBook } from '../../shared/config/upstream-book.ts'
import type { UpstreamModel } from '../../shared/config/shape.ts'
import type { Deployment } from '../../shared/core/deployment.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { ModelCatalogue, targetQuirks } from '../../shared/core/model-facts.ts'
import { orNotFound } from './or-not-found.ts'

/** Returns the deployment to call for a probe. Throws NOT_FOUND for an unknown upstream, INVALID_FIELD or CONFLICT for an unusable one. */
export function probedDeployment(
  book: UpstreamBook,
  { upstreams, parts }: Book,
  upstreamId: string,
  asked: { readonly key_id?: string; readonly model?: string },
): Deployment {
  const fixed = [...book.configured, ...book.simulated].find(({ id }) => id === upstreamId)
  const own = upstreams.find(({ stored }) => stored.id === upstreamId)
  const config = fixed ?? orNotFound(own ?? null).config
  if (config === null) {
    throw new GatewayError('CONFLICT', { message: `This upstream cannot be used: ${own?.problem ?? ''}.` })
  }
  const { models, ...provider } = config
  const deployed = parts.models.flatMap(({ id, targets }) =>
    targets.filter(({ providerId }) => providerId === upstreamId).map(({ upstreamModel }) => ({ id, upstreamModel })),
  )
  const upstreamModel = modelOf([...models, ...deployed], asked.model)
  const facts = new ModelCatalogue(parts.facts).factsOf(upstreamModel, provider.profile ?? null, provider.id)
  const key =
    asked.key_id === undefined
      ? (provider.keys.find(({ enabled }) => enabled) ?? provider.keys[0])
      : provider.keys.find(({ id }) => id === asked.key_id)
  if (key === undefined) {
    if (asked.key_id === undefined) throw new GatewayError('CONFLICT', { message: 'This upstream has no key to use.' })
    const state = own?.keyStates.get(asked.key_id)
    const message = state === undefined ? 'The upstream has no such key.' : `This key cannot be used: it is ${state}.`
    throw new GatewayError('INVALID_FIELD', { message, param: '/key_id' })
  }
  return { provider, key, upstreamModel, weight: 1, target: targetQuirks(facts, provider.target) }
}

/** Returns the upstream's name of the model that clients ask for. */
function modelOf(
  models: ReadonlyArray<Pick<UpstreamModel, 'id' | 'upstreamModel'>>,
  asked: string | undefined,
): string {
  if (asked === undefined) {
    const first = models.find(({ id }) => !id.endsWith('*'))
    if (first !== undefined) return first.upstreamModel
    throw new GatewayError('INVALID_FIELD', {
      message: 'Name a model: this upstream has only patterns.',
      param: '/model',
    })
  }
  const exact = models.find(({ id }) => id === asked)
  if (exact !== undefined) return exact.upstreamModel
  const [pattern] = models
    .filter(({ id }) => id.endsWith('*') && asked.startsWith(id.slice(0, -1)))
    .sort((a, b) => b.id.length - a.id.length)
  if (pattern === undefined) {
    throw new GatewayError('INVALID_FIELD', { message: 'This upstream serves no model of this name.', param: '/model' })
  }
  return pattern.upstreamModel.replace(/\*$/, () => asked.slice(pattern.id.length - 1))
}
