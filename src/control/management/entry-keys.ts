import { randomUUID } from 'node:crypto'
import type { Static } from 'typebox'
import type { BodyOf } from '../../shared/api/operation.ts'
import { MAX_ENTERPRISE_KEYS } from '../../shared/api/operations/enterprise-keys.ts'
import type { ENTERPRISE_KEYS, EnterpriseKey } from '../../shared/api/operations/enterprise-keys.ts'
import { MAX_USER_KEYS } from '../../shared/api/operations/keys.ts'
import type { Key, KEYS } from '../../shared/api/operations/keys.ts'
import { isAddressRange } from '../../shared/config/address.ts'
import { digestApiKey, generateApiKey, maskApiKey } from '../../shared/core/api-key.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import { NO_LIMITS } from '../../shared/core/snapshot.ts'
import type { EntryKey } from '../../shared/core/snapshot.ts'
import type { CaptureSettings } from '../../shared/core/capture.ts'
import type { Database, Queryable } from '../store/database.ts'
import { countOwnedKeys, lockOwnedKeys, rotateOwnedKey } from '../store/owned-keys.ts'
import type { KeyChange, KeyOwner, OwnedKey } from '../store/owned-keys.ts'
import { captureSettingsOf, renderedCapture } from './capture-settings.ts'
import { renderedModelBudgets } from './model-budgets.ts'
import { orNotFound } from './or-not-found.ts'

const DAY_SECONDS = 86_400

/** The parts that all keys share. */
export interface KeyParts {
  /** The secret for the digests of entry keys. */
  readonly keyHash: Buffer
  readonly mayCapture: boolean
}

/** Makes a key and its secret, which is shown once. Throws INVALID_FIELD for an invalid address or setting. */
export async function newEntryKey(
  owner: KeyOwner,
  body: BodyOf<typeof ENTERPRISE_KEYS.createEnterpriseKey>,
  parts: KeyParts,
): Promise<{ readonly secret: string; readonly entry: EntryKey; readonly capture: CaptureSettings | null }> {
  const secret = generateApiKey()
  const change = await keyChangeOf(body, parts)
  if (change.expiresAt instanceof Date && change.expiresAt.getTime() <= Date.now()) {
    throw new GatewayError('INVALID_FIELD', { message: 'expires_at must be in the future.', param: '/expires_at' })
  }
  const entry: EntryKey = {
    id: `key_${randomUUID()}`,
    digest: digestApiKey(secret, parts.keyHash),
    masked: maskApiKey(secret),
    name: body.name,
    enabled: true,
    expiresAtMs: change.expiresAt?.getTime() ?? null,
    userId: owner.kind === 'user' ? owner.userId : null,
    enterpriseId: owner.kind === 'enterprise' ? owner.enterpriseId : null,
    departmentId: body.department_id ?? null,
    memberId: body.member_id ?? null,
    limits: {
      requestsPerMinute: body.rpm ?? null,
      tokensPerMinute: body.tpm ?? null,
      concurrency: body.max_concurrency ?? null,
    },
    userLimits: NO_LIMITS,
    enterpriseLimits: NO_LIMITS,
    models: body.models ?? null,
    addresses: body.ip_allow ?? null,
    clients: body.client_allow ?? null,
    tools: body.mcp_tools ?? null,
    budget: { moneyMicro: body.monthly_budget ?? null, tokens: body.monthly_tokens ?? null },
  }
  return { secret, entry, capture: change.capture ?? null }
}

const MAX_KEYS = { user: MAX_USER_KEYS, enterprise: MAX_ENTERPRISE_KEYS } as const

/** Throws CONFLICT when the owner can have no further key. Call it in the transaction that stores one. */
export async function checkRoomForKey(tx: Queryable, owner: KeyOwner): Promise<void> {
  const most = MAX_KEYS[owner.kind]
  await lockOwnedKeys(tx, owner)
  if ((await countOwnedKeys(tx, owner)) >= most) {
    throw new GatewayError('CONFLICT', {
      message: `There are ${most} keys already, which is the limit: delete some first.`,
    })
  }
}

/** Gives a key a new secret, and returns both. The old secret stays valid for `grace_seconds`, a day by default. */
export async function rotateKey(
  database: Database,
  owner: KeyOwner,
  keyId: string,
  {
    grace_seconds: graceSeconds = DAY_SECONDS,
    hashSecret,
  }: { readonly grace_seconds?: number; readonly hashSecret: Buffer },
): Promise<{ readonly key: OwnedKey; readonly secret: string }> {
  const secret = generateApiKey()
  const oldUntil = new Date(Date.now() + graceSeconds * 1000)
  const fresh = { digest: digestApiKey(secret, hashSecret), masked: maskApiKey(secret), oldUntil }
  return { key: orNotFound(await database.transaction((tx) => rotateOwnedKey(tx, owner, keyId, fresh))), secret }
}

type Changes = BodyOf<typeof KEYS.updateKey> & Partial<BodyOf<typeof ENTERPRISE_KEYS.updateEnterpriseKey>>

/** Throws INVALID_FIELD for an invalid address or setting. */
export async function keyChangeOf(body: Changes, { mayCapture }: Pick<KeyParts, 'mayCapture'>): Promise<KeyChange> {
  for (const [index, range] of (body.ip_allow ?? []).entries()) {
    if (isAddressRange(range)) continue
    throw new GatewayError('INVALID_FIELD', {
      message: `ip_allow[${index}] must be an address or a CIDR range, like 10.0.0.0/8.`,
      param: `/ip_allow/${index}`,
    })
  }
  const { expires_at: expiresAt } = body
  return {
    name: body.name,
    rpm: body.rpm,
    tpm: body.tpm,
    maxConcurrency: body.max_concurrency,
    models: body.models,
    addresses: body.ip_allow,
    clients: body.client_allow,
    tools: body.mcp_tools,
    expiresAt: typeof expiresAt === 'string' ? new Date(expiresAt) : expiresAt,
    monthlyBudget: body.monthly_budget,
    monthlyTokens: body.monthly_tokens,
    capture: await captureSettingsOf(body.capture, mayCapture),
    departmentId: body.department_id,
    memberId: body.member_id,
  }
}

export function renderedKey(key: OwnedKey): Static<typeof Key> {
  return {
    id: key.id,
    name: key.name,
    key_masked: key.masked,
    enabled: key.status === 'enabled',
    rpm: key.rpm,
    tpm: key.tpm,
    max_concurrency: key.maxConcurrency,
    models: key.models,
    ip_allow: key.addresses,
    client_allow: key.clients,
    capture: renderedCapture(key.capture),
    mcp_tools: key.tools,
    spend: null,
    expires_at: key.expiresAt?.toISOString() ?? null,
    created_at: key.createdAt.toISOString(),
    updated_at: key.updatedAt.toISOString(),
    last_used_at: key.lastUsedAt?.toISOString() ?? null,
    old_key_until: key.oldSecretUntil?.toISOString() ?? null,
  }
}

export function renderedEnterpriseKey(key: OwnedKey): Static<typeof EnterpriseKey> {
  return {
    ...renderedKey(key),
    monthly_budget: key.monthlyBudget,
    monthly_tokens: key.monthlyTokens,
    model_budgets: renderedModelBudgets(key.modelBudgets),
    department_id: key.departmentId,
    member_id: key.memberId,
  }
}
