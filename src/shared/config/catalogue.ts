import { existsSync, readFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'
import { Type, type Static } from 'typebox'
import { Value } from 'typebox/value'
import { completedBy, ModelCatalogue } from '../core/model-facts.ts'
import type { ModelFacts, ModelPrices, TokenPrices } from '../core/model-facts.ts'
import { findProblem } from './check.ts'
import { attempt, ConfigError, pathText, type Fail, type Path } from './config-error.ts'
import { quirksOf, quirksSchema } from './quirks.ts'
import { deepFreeze } from './redact.ts'

const FILE = fileURLToPath(new URL('../../../config/models.yaml', import.meta.url))
/** The same as JSON, which a build makes: YAML of this length takes a fifth of a second of each start. */
const BUILT = fileURLToPath(new URL('models.json', import.meta.url))
/** Null in a build, whose processes then do not load the library that reads YAML. */
const readYaml = existsSync(BUILT) ? null : (await import('./document.ts')).readDocument

const price = (description: string) => Type.Integer({ description, minimum: 0, maximum: 1_000_000_000_000 })

const tokenPrices = {
  input: price('Price of tokens of the prompt.'),
  output: price('Price of tokens of the answer.'),
  cached_input: Type.Optional(price('Price of tokens read from the prompt cache. Default: the price of input.')),
  cache_write: Type.Optional(price('Price of tokens written to the prompt cache. Default: the price of input.')),
}

const count = (description: string) => Type.Integer({ description, minimum: 1, maximum: Number.MAX_SAFE_INTEGER })

/** An entry of the catalogue, in config/models.yaml or in the operator's file. */
export const modelEntry = Type.Object(
  {
    id: Type.String({
      description: 'The model\'s name at its provider; a trailing "*" matches any rest.',
      minLength: 1,
      maxLength: 256,
    }),
    provider: Type.Optional(
      Type.String({ description: 'The known provider that the entry is about. Default: any.', minLength: 1 }),
    ),
    context_tokens: Type.Optional(count('Most tokens of prompt and answer together.')),
    max_output_tokens: Type.Optional(count('Most tokens of an answer.')),
    images: Type.Optional(Type.Boolean({ description: 'Whether prompts may hold images.' })),
    tools: Type.Optional(Type.Boolean({ description: 'Whether the model can call tools.' })),
    quirks: Type.Optional(quirksSchema),
    prices: Type.Optional(
      Type.Object(
        {
          ...tokenPrices,
          long_prompts: Type.Optional(
            Type.Array(
              Type.Object(
                { above_tokens: count('Length of the prompt above which these prices apply.'), ...tokenPrices },
                { additionalProperties: false },
              ),
              {
                description: 'Prices of all tokens of a request with a longer prompt; the smallest above_tokens first.',
              },
            ),
          ),
        },
        { description: 'In millionths of a dollar per million tokens: 2500000 is $2.50.', additionalProperties: false },
      ),
    ),
    aliases: Type.Optional(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), {
        description: 'Other ids by which clients may ask for the model.',
      }),
    ),
  },
  { description: 'Facts about a model.', additionalProperties: false },
)

type ModelEntry = Static<typeof modelEntry>
type PricesEntry = NonNullable<ModelEntry['prices']>

const shippedSchema = Type.Object(
  { kinds: Type.Record(Type.String(), quirksSchema), models: Type.Array(modelEntry) },
  { additionalProperties: false },
)

let shipped: readonly ModelFacts[] | null = null

/** The catalogue that comes with the gateway; read once. Throws ConfigError when it is damaged. */
export function shippedCatalogue(): readonly ModelFacts[] {
  shipped ??= deepFreeze(readYaml === null ? builtCatalogue() : readCatalogue(FILE, readYaml))
  return shipped
}

function readCatalogue(file: string, read: NonNullable<typeof readYaml>): ModelFacts[] {
  const document = read(file, file)
  const problem = findProblem(shippedSchema, document.value)
  const fail: Fail = (path, message) => {
    throw new ConfigError(message, document.locate(path, 'value') ?? { file }, path)
  }
  if (problem) return fail(problem.path, problem.message)
  return modelFacts(Value.Parse(shippedSchema, document.value).models, ['models'], fail)
}

/** Not checked against the schema: tests check the file that the build makes it of, and the check would take as long as all else here. */
function builtCatalogue(): ModelFacts[] {
  const { models } = JSON.parse(readFileSync(BUILT, 'utf8')) as Static<typeof shippedSchema>
  return modelFacts(models, ['models'], (path, message) => {
    throw new ConfigError(message, { file: BUILT }, path)
  })
}

/** The facts of entries, after the checks that the schema cannot make. */
export function modelFacts(
  entries: readonly ModelEntry[],
  path: Path,
  fail: Fail,
  isSound: (path: Path) => boolean = () => true,
): ModelFacts[] {
  return entries.flatMap((entry, index) => {
    const at = [...path, index]
    return isSound(at) ? attempt(fail, () => [factsOfEntry(entry, at, fail)], []) : []
  })
}

/** As `modelFacts`, for one entry. */
export function factsOfEntry(entry: ModelEntry, path: Path, fail: Fail): ModelFacts {
  const isPattern = entry.id.endsWith('*')
  if (/\*./.test(entry.id)) fail([...path, 'id'], 'a "*" may only be the last character of a model id')
  if (isPattern && entry.aliases !== undefined) fail([...path, 'aliases'], 'a pattern cannot have aliases')
  if (entry.aliases?.some((alias) => alias.includes('*'))) fail([...path, 'aliases'], 'an alias cannot be a pattern')
  return {
    id: entry.id,
    provider: entry.provider ?? null,
    contextTokens: entry.context_tokens ?? null,
    takesImages: entry.images ?? null,
    takesTools: entry.tools ?? null,
    target: {
      ...(entry.max_output_tokens === undefined ? {} : { maxOutputTokens: entry.max_output_tokens }),
      ...quirksOf(entry.quirks),
    },
    prices: entry.prices === undefined ? null : modelPrices(entry.prices, [...path, 'prices'], fail),
    aliases: entry.aliases ?? [],
  }
}

function modelPrices(prices: PricesEntry, path: Path, fail: Fail): ModelPrices {
  const longPrompts = (prices.long_prompts ?? []).map((tier) => ({ ...pricesOf(tier), aboveTokens: tier.above_tokens }))
  if (longPrompts.some(({ aboveTokens }, index) => aboveTokens <= (longPrompts[index - 1]?.aboveTokens ?? 0))) {
    fail(
      [...path, 'long_prompts'],
      `${pathText([...path, 'long_prompts'])} must be in the order of rising above_tokens`,
    )
  }
  return { ...pricesOf(prices), longPrompts }
}

function pricesOf(prices: Omit<PricesEntry, 'long_prompts'>): TokenPrices {
  const { input, output } = prices
  return { input, output, cachedInput: prices.cached_input ?? input, cacheWrite: prices.cache_write ?? input }
}

/**
 * The operator's entries, then those that come with the gateway. A member that an operator's entry leaves out is taken from the
 * entry for the same model that comes with the gateway.
 */
export function withOwnModels(own: readonly ModelFacts[], rest: readonly ModelFacts[]): readonly ModelFacts[] {
  if (own.length === 0) return rest
  const catalogue = new ModelCatalogue(rest)
  const completed = own.map((entry) => {
    const base = entry.id.endsWith('*')
      ? rest.find(({ id, provider }) => id === entry.id && provider === entry.provider)
      : catalogue.factsOf(entry.id, entry.provider)
    return base === null || base === undefined ? entry : completedBy(entry, base)
  })
  return [...completed, ...rest]
}
