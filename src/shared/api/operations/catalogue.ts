import { Type } from 'typebox'
import { nullable } from '../nullable.ts'
import { Id, listOf, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

const MICRO = 'In millionths of a dollar per million tokens: 2500000 is $2.50.'
const price = (description: string) => Type.Integer({ description })
const tokens = (description: string) => Type.Integer({ description })
const Name = Type.String({ minLength: 1, maxLength: 256 })

const TokenPrices = {
  input: price('Price of tokens of the prompt.'),
  output: price('Price of tokens of the answer.'),
}
const CachePrices = {
  cached_input: price('Price of tokens read from the prompt cache. Default: the price of input.'),
  cache_write: price('Price of tokens written to the prompt cache. Default: the price of input.'),
}
const NewTokenPrices = { ...TokenPrices, ...Type.Partial(Type.Object(CachePrices)).properties }

/** Members of a model as in the configuration file, which has the checks. This schema checks only their types. */
const Settings = {
  prices: Type.Object(
    {
      ...NewTokenPrices,
      long_prompts: Type.Optional(
        Type.Array(
          Type.Object(
            { above_tokens: tokens('Length of the prompt above which these prices apply.'), ...NewTokenPrices },
            { additionalProperties: false },
          ),
          {
            description: 'Prices of all tokens of a request with a longer prompt; the smallest above_tokens first.',
            maxItems: 100,
          },
        ),
      ),
    },
    { description: MICRO, additionalProperties: false },
  ),
  aliases: Type.Array(Name, { description: 'Other ids by which clients may ask for the model.', maxItems: 100 }),
  context_tokens: tokens('Most tokens of prompt and answer together.'),
  max_output_tokens: tokens('Most tokens of an answer.'),
  images: Type.Boolean({ description: 'Whether prompts may hold images.' }),
  tools: Type.Boolean({ description: 'Whether the model can call tools.' }),
  quirks: Type.Object({}, { description: 'Deviations from the dialect of its upstream.', additionalProperties: true }),
  deployments: Type.Array(
    Type.Object(
      {
        upstream: Id,
        upstream_model: Type.Optional(Type.String({ description: 'Its name at the upstream. Default: the id.' })),
        weight: Type.Optional(Type.Number({ description: 'Share of the traffic. Default: 1.' })),
        priority: Type.Optional(Type.Integer({ description: 'Lower is used first. Default: 0.' })),
      },
      { additionalProperties: false },
    ),
    { description: 'The upstreams that serve it, instead of those that list it.', maxItems: 1_000 },
  ),
}

const Prices = nullable(
  Type.Object(
    {
      ...TokenPrices,
      ...CachePrices,
      long_prompts: Type.Array(Type.Object({ above_tokens: Type.Integer(), ...TokenPrices, ...CachePrices })),
    },
    { description: `${MICRO} Null: not known; the model is free.` },
  ),
)

const SOURCES = ['file', 'stored', 'built-in'] as const

export const CatalogueModel = Type.Object({
  id: Type.String(),
  source: Type.Enum([...SOURCES], {
    type: 'string',
    description: 'Source of the model: the configuration, management, or the built-in simulator.',
  }),
  alias_of: nullable(Type.String({ description: 'The model of which this id is an alias.' })),
  aliases: Type.Array(Type.String()),
  owned_by: nullable(Type.String({ description: 'Null: no upstream serves it at the moment.' })),
  context_tokens: nullable(Type.Integer()),
  max_output_tokens: nullable(Type.Integer()),
  images: nullable(Type.Boolean({ description: 'Null: not known.' })),
  tools: nullable(Type.Boolean({ description: 'Null: not known.' })),
  prices: Prices,
  prices_source: Type.Unsafe<(typeof SOURCES)[number] | null>({
    type: ['string', 'null'],
    enum: [...SOURCES, null],
    description: 'Source of the prices; built-in: the catalogue of the gateway.',
  }),
  deployments: Type.Array(
    Type.Object({
      upstream: Type.String(),
      upstream_model: Type.String(),
      weight: Type.Number(),
      priority: Type.Integer(),
      prices: Prices,
    }),
  ),
  settings: nullable(
    Type.Object({}, { description: 'Settings that management has made; null: none.', additionalProperties: true }),
  ),
  problem: nullable(Type.String({ description: 'Why what is set of it cannot be used.' })),
  warnings: Type.Array(Type.String(), { description: 'What is set of it, and probably not meant so.' }),
  created_at: nullable(Time),
  updated_at: nullable(Time),
})

const GroupModels = Type.Array(Name, {
  description: 'Ids of models, or ids that end in *.',
  minItems: 1,
  maxItems: 1_000,
})

export const ModelGroup = Type.Object({
  id: Type.String(),
  models: Type.Array(Type.String()),
  source: Type.Enum(['file', 'stored'], { description: 'Groups of the file can be changed only in the file.' }),
  created_at: nullable(Time),
  updated_at: nullable(Time),
})

export const CATALOGUE = {
  adminListModels: operation({
    method: 'GET',
    path: '/v1/admin/models',
    tag: 'Catalogue',
    summary: 'Every model that clients may ask for, with its upstreams and prices',
    access: 'platform-admin',
    query: Type.Object({
      ...PageQuery,
      search: Type.Optional(Type.String({ description: 'A part of the id.', minLength: 1, maxLength: 256 })),
      prices: Type.Optional(
        Type.Enum(['known', 'unknown'], { description: 'Only models whose prices are known, or are not.' }),
      ),
    }),
    answer: ok(listOf(CatalogueModel)),
  }),
  adminReplaceModels: operation({
    method: 'PUT',
    path: '/v1/admin/models',
    tag: 'Catalogue',
    summary: 'Set these models, and remove the settings of all others',
    access: 'platform-admin',
    body: Type.Object({
      models: Type.Array(
        Type.Object({ id: Name, ...Type.Partial(Type.Object(Settings)).properties }, { additionalProperties: false }),
        { maxItems: 10_000 },
      ),
    }),
    answer: ok(
      Type.Object({
        set: Type.Integer({ description: 'Models that have settings now.' }),
        removed: Type.Integer({ description: 'Models whose settings were removed.' }),
      }),
    ),
  }),
  adminGetModel: operation({
    method: 'GET',
    path: '/v1/admin/models/{id}',
    tag: 'Catalogue',
    summary: 'One model',
    access: 'platform-admin',
    answer: ok(CatalogueModel),
  }),
  adminUpdateModel: operation({
    method: 'PUT',
    path: '/v1/admin/models/{id}',
    tag: 'Catalogue',
    summary: 'Set prices, aliases, limits or deployments of a model: a missing field stays as it is, null removes it',
    access: 'platform-admin',
    body: Type.Object({
      prices: Type.Optional(nullable(Settings.prices)),
      aliases: Type.Optional(nullable(Settings.aliases)),
      context_tokens: Type.Optional(nullable(Settings.context_tokens)),
      max_output_tokens: Type.Optional(nullable(Settings.max_output_tokens)),
      images: Type.Optional(nullable(Settings.images)),
      tools: Type.Optional(nullable(Settings.tools)),
      quirks: Type.Optional(nullable(Settings.quirks)),
      deployments: Type.Optional(nullable(Settings.deployments)),
    }),
    answer: ok(CatalogueModel),
  }),
  adminDeleteModel: operation({
    method: 'DELETE',
    path: '/v1/admin/models/{id}',
    tag: 'Catalogue',
    summary: 'Remove all settings of a model',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  adminListModelGroups: operation({
    method: 'GET',
    path: '/v1/admin/model-groups',
    tag: 'Catalogue',
    summary: 'The groups of models',
    access: 'platform-admin',
    query: Type.Object(PageQuery),
    answer: ok(listOf(ModelGroup)),
  }),
  adminGetModelGroup: operation({
    method: 'GET',
    path: '/v1/admin/model-groups/{id}',
    tag: 'Catalogue',
    summary: 'One group of models',
    access: 'platform-admin',
    answer: ok(ModelGroup),
  }),
  adminPutModelGroup: operation({
    method: 'PUT',
    path: '/v1/admin/model-groups/{id}',
    tag: 'Catalogue',
    summary: 'Make or change a group of models; budgets may name it in place of single models',
    access: 'platform-admin',
    body: Type.Object({ models: GroupModels }),
    answer: ok(ModelGroup),
  }),
  adminDeleteModelGroup: operation({
    method: 'DELETE',
    path: '/v1/admin/model-groups/{id}',
    tag: 'Catalogue',
    summary: 'Delete a group of models that no budget names',
    access: 'platform-admin',
    answer: NOTHING,
  }),
  listModelGroups: operation({
    method: 'GET',
    path: '/v1/enterprise/{id}/model-groups',
    tag: 'Enterprises',
    summary: 'The groups of models, which budgets may name',
    access: 'enterprise.read',
    answer: ok(
      Type.Object({ data: Type.Array(Type.Object({ id: Type.String(), models: Type.Array(Type.String()) })) }),
    ),
  }),
} as const
