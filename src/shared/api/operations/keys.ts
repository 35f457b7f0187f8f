import { Type } from 'typebox'
import { CaptureField, ShownCapture } from '../capture.ts'
import { nounOrNull, nullable } from '../nullable.ts'
import { ShownSpend } from '../spend.ts'
import { created, Id, listOf, Name, NOTHING, ok, operation, PageQuery, Time } from '../operation.ts'

const Limits = {
  rpm: Type.Optional(nullable(Type.Integer({ description: 'Requests per minute.', minimum: 0, maximum: 2 ** 31 - 1 }))),
  tpm: Type.Optional(
    nullable(Type.Integer({ description: 'Tokens per minute.', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })),
  ),
  max_concurrency: Type.Optional(
    nullable(Type.Integer({ description: 'Requests at the same time.', minimum: 0, maximum: 2 ** 31 - 1 })),
  ),
  models: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 256 }), { description: 'Null: all models.', maxItems: 1_000 }),
    ),
  ),
  ip_allow: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 64 }), {
        description: 'Addresses and CIDR ranges; null: from everywhere.',
        maxItems: 1_000,
      }),
    ),
  ),
  client_allow: Type.Optional(
    nullable(
      Type.Array(Type.String({ minLength: 1, maxLength: 200 }), {
        description: 'Prefixes of the User-Agent; null: any client.',
        maxItems: 100,
      }),
    ),
  ),
  mcp_tools: Type.Optional(
    nullable(
      Type.Array(
        Type.String({ pattern: '^[A-Za-z0-9_.-]{0,128}\\*?$', minLength: 1, examples: ['chat_completion', '*'] }),
        {
          description:
            'Tools that the key may use at /mcp: names, or beginnings of names with a * after them; null: none.',
          maxItems: 1_000,
        },
      ),
    ),
  ),
  expires_at: Type.Optional(nullable(Time)),
  ...CaptureField,
}

export const Key = Type.Object({
  id: Id,
  name: Type.String(),
  key_masked: Type.String(),
  enabled: Type.Boolean(),
  rpm: nullable(Type.Integer()),
  tpm: nullable(Type.Integer()),
  max_concurrency: nullable(Type.Integer()),
  models: nullable(Type.Array(Type.String())),
  ip_allow: nullable(Type.Array(Type.String())),
  client_allow: nullable(Type.Array(Type.String())),
  capture: nounOrNull(ShownCapture),
  mcp_tools: nullable(Type.Array(Type.String())),
  spend: ShownSpend,
  expires_at: nullable(Time),
  created_at: Time,
  updated_at: Time,
  last_used_at: nullable({ ...Time, description: 'Time of its newest settled request. Null: it was not used yet.' }),
  old_key_until: nullable({
    ...Time,
    description:
      'End of the grace period of the key from before the last rotation. Null: only the key itself is valid.',
  }),
})

/** Query of lists of keys. */
export const KeyListQuery = {
  ...PageQuery,
  search: Type.Optional(
    Type.String({ description: 'A part of the name or of the masked key.', minLength: 1, maxLength: 100 }),
  ),
  enabled: Type.Optional(Type.Boolean()),
  sort: Type.Optional(
    Type.Enum(['created', 'name', 'last_used'], {
      description: 'created and last_used: the newest first.',
      default: 'created',
    }),
  ),
}

export const NewKey = Type.Object({
  ...Key.properties,
  key: Type.String({ description: 'The key itself. It is shown only once.' }),
})

/** Keys of one user that are not deleted. */
export const MAX_USER_KEYS = 1_000

export const KEYS = {
  listKeys: operation({
    method: 'GET',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'Your keys',
    access: 'user',
    query: Type.Object(KeyListQuery),
    answer: ok(listOf(Key)),
  }),
  createKey: operation({
    method: 'POST',
    path: '/api/keys',
    tag: 'Keys',
    summary: 'Make a key; a user has at most 1 000',
    access: 'user',
    body: Type.Object({ name: Name, ...Limits }),
    answer: created(NewKey),
  }),
  getKey: operation({
    method: 'GET',
    path: '/api/keys/{id}',
    tag: 'Keys',
    summary: 'One of your keys',
    access: 'user',
    answer: ok(Key),
  }),
  updateKey: operation({
    method: 'PUT',
    path: '/api/keys/{id}',
    tag: 'Keys',
    summary: 'Change a key; a missing field stays as it is',
    access: 'user',
    body: Type.Object({ name: Type.Optional(Name), ...Limits }),
    answer: ok(Key),
  }),
  deleteKey: operation({
    method: 'DELETE',
    path: '/api/keys/{id}',
    tag: 'Keys',
    summary: 'Delete a key, for good',
    access: 'user',
    answer: NOTHING,
  }),
  toggleKey: operation({
    method: 'PUT',
    path: '/api/keys/{id}/toggle',
    tag: 'Keys',
    summary: 'Turn a key off, or on again',
    access: 'user',
    body: Type.Object({
      enabled: Type.Optional(Type.Boolean({ description: 'Default: the opposite of the present state.' })),
    }),
    answer: ok(Key),
  }),
  rotateKey: operation({
    method: 'POST',
    path: '/api/keys/{id}/rotate',
    tag: 'Keys',
    summary: 'Give a key a new secret; the old one stays valid for the grace period',
    access: 'user',
    body: Type.Object({
      grace_seconds: Type.Optional(
        Type.Integer({
          description: 'How long the old secret stays valid.',
          minimum: 0,
          maximum: 604_800,
          default: 86_400,
        }),
      ),
    }),
    answer: ok(NewKey),
  }),
} as const
