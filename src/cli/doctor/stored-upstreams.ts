import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { loadSecrets } from '../../shared/config/secrets.ts'
import type { Config, UpstreamConfig } from '../../shared/config/shape.ts'
import { UpstreamBook } from '../../shared/config/upstream-book.ts'
import type { Book, BookedUpstream } from '../../shared/config/upstream-book.ts'
import { UpstreamReach } from '../../shared/core/upstream-reach.ts'
import { DirectoryInUseError } from '../../shared/runtime/data-directory.ts'
import { Seal } from '../../shared/runtime/seal.ts'
import { pendingMigrations } from '../../control/store/migrate.ts'
import { listStored, UPSTREAM_SEAL } from '../../control/store/upstreams.ts'
import { UNHEARD, withDatabase } from '../with-database.ts'
import { failed, reasonOf, skipped, warning } from './finding.ts'
import type { Finding } from './finding.ts'

const CHECK = 'stored upstreams'
const INVALID_FIX = 'correct it with PUT /v1/admin/upstreams/{id}, or delete it there'

export interface StoredReport {
  readonly findings: readonly Finding[]
  /** Those that the gateway uses. */
  readonly upstreams: readonly UpstreamConfig[]
}

/** Reads the upstreams that admins added through the management plane. */
export async function readStoredUpstreams(config: Config): Promise<StoredReport> {
  const { dataDir } = config
  if (config.database.url === null && !existsSync(join(dataDir, 'database'))) {
    return only(skipped(CHECK, 'there is no database yet'))
  }
  const secrets = loadSecrets(dataDir, process.env)
  if (secrets === null) return only(skipped(CHECK, 'without the secrets of the gateway, credentials cannot be read'))
  try {
    return await withDatabase(config, UNHEARD, async (database) => {
      const pending = await pendingMigrations(database)
      if (pending.length > 0) return only(skipped(CHECK, 'the schema is not up to date'))
      const book = new UpstreamBook({
        upstreams: config.upstreams,
        simulated: [],
        facts: config.models,
        groups: config.modelGroups,
        timeouts: config.upstream.timeouts,
        reach: new UpstreamReach(config.management.privateUpstreams),
      })
      return reportOf(book.merge(await listStored(database, new Seal(secrets.keyHash, UPSTREAM_SEAL))))
    })
  } catch (cause) {
    if (cause instanceof DirectoryInUseError) {
      const says = `process ${cause.pid} has the database open: POST /v1/admin/upstreams/{id}/test of its gateway checks one`
      return only(skipped(CHECK, says))
    }
    return only(skipped(CHECK, `the database cannot be read: ${reasonOf(cause)}`))
  }
}

function reportOf({ upstreams, models }: Book): StoredReport {
  const findings = [
    ...upstreams.flatMap(findingsOf),
    ...models.flatMap(({ stored: { id }, problem }) =>
      problem === null ? [] : [failed(`stored model ${id}`, problem, 'correct it with PUT /v1/admin/models/{id}')],
    ),
  ]
  const used = upstreams.flatMap(({ state, config }) => (state === 'active' && config !== null ? [config] : []))
  return {
    findings: findings.length > 0 || used.length > 0 ? findings : [skipped(CHECK, 'there are none')],
    upstreams: used,
  }
}

function findingsOf({ stored: { id }, state, problem, keyStates }: BookedUpstream): Finding[] {
  const check = `upstream ${id}`
  switch (state) {
    case 'invalid':
      return [failed(check, `it is left out: ${problem ?? ''}`, INVALID_FIX)]
    case 'shadowed':
      return [warning(check, problem ?? '', 'give one of the two another id')]
    case 'disabled':
      return [skipped(check, 'disabled')]
    case 'active':
      return [...keyStates].flatMap(([key, keyState]) => keyFinding(`${check}, key ${key}`, keyState))
  }
}

function keyFinding(check: string, state: string): Finding[] {
  if (state === 'unreadable') {
    return [failed(check, 'its credential was encrypted with another secret', 'set the credential again')]
  }
  return state === 'shadowed' ? [warning(check, 'another key has this id', 'give one of the two another id')] : []
}

function only(finding: Finding): StoredReport {
  return { findings: [finding], upstreams: [] }
}
