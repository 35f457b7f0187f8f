import { describe, expect, it } from 'vitest'
import { bodyOf, EMPTY_ALERT, errorsOf } from '../../../src/console/pages/alerts/alert-draft.ts'
import type { AuditEntry } from '../../../src/console/pages/audit/audit-calls.ts'
import { csvOf, ndjsonOf } from '../../../src/console/pages/audit/csv.ts'
import { bindingOf, chainAbove, inheritedOf, own } from '../../../src/console/pages/departments/budget-chain.ts'
import { captureBodyOf, captureDraftOf } from '../../../src/console/pages/settings/capture-draft.ts'
import { ancestryOf, inTreeOrder } from '../../../src/console/parts/department-tree.ts'
import type { Department, Enterprise } from '../../../src/console/parts/enterprise.ts'
import { limitBodyOf, limitDraftOf, limitErrorsOf, NO_LIMITS } from '../../../src/console/parts/limits.ts'

describe('limits that are typed', () => {
  const limited = {
    monthly_budget: 12_500_000,
    monthly_tokens: null,
    rpm: 0,
    tpm: 1_000,
    max_concurrency: null,
    model_budgets: [{ models: ['m-*'], monthly_budget: null, monthly_tokens: 5 }],
  }

  it('are the limits that were shown, when nothing is changed', () => {
    const draft = limitDraftOf(limited)
    expect(draft).toMatchObject({ monthly_budget: '12.50', rpm: '0', monthly_tokens: '' })
    expect(limitErrorsOf(draft)).toEqual({})
    expect(limitBodyOf(draft)).toEqual(limited)
  })

  it('remove a limit where a field is empty, and name what cannot be read', () => {
    expect(limitBodyOf({ monthly_budget: '', rpm: ' ' })).toEqual({ monthly_budget: null, rpm: null })
    const budget = { models: [], monthly_budget: '', monthly_tokens: '' }
    const draft = {
      ...NO_LIMITS,
      monthly_budget: 'much',
      rpm: '1.5',
      tpm: '1,5',
      model_budgets: [budget, { ...budget, models: ['m'] }, { ...budget, models: ['m'], monthly_budget: 'x' }],
    }
    expect(limitErrorsOf(draft)).toEqual({
      monthly_budget: 'amount',
      rpm: 'count',
      tpm: 'count',
      'model_budgets/0': 'models',
      'model_budgets/1': 'empty',
      'model_budgets/2': 'amount',
    })
  })
})

describe('the budgets of a department', () => {
  const department = (id: string, parent_id: string | null, limit: number | null, spent: number): Department => ({
    ...{ id, name: id, parent_id, monthly_budget: limit, monthly_tokens: null, model_budgets: [], members: 0 },
    ...{ rpm: null, tpm: null, max_concurrency: null, created_at: '2026-11-25T12:00:00Z' },
    spend: spendOf(limit, spent),
  })
  const spendOf = (limit: number | null, spent: number): Department['spend'] => ({
    ...{ limit, spent, held: 0, remaining: limit === null ? null : limit - spent },
    ...{ resets_at: null, forecast: null, nearest: null, models: [] },
  })
  const enterprise = (own: number | null, platform: number | null, spent: number): Enterprise =>
    ({
      id: 'ent',
      name: 'Engines',
      monthly_budget: own,
      platform_monthly_budget: platform,
      spend: spendOf(own === null ? platform : Math.min(own, platform ?? own), spent),
    }) as Enterprise
  const tree = [
    department('vision', 'research', null, 5),
    department('research', null, 100, 95),
    department('sales', null, 40, 0),
  ]

  it('are read as a tree, each before those below it', () => {
    expect(inTreeOrder(tree).map((one) => [one.department.id, one.depth])).toEqual([
      ['research', 0],
      ['vision', 1],
      ['sales', 0],
    ])
    expect(ancestryOf(tree, 'vision').map(({ id }) => id)).toEqual(['vision', 'research'])
  })

  it('bind by what is left, and are inherited by what they allow', () => {
    const [vision] = tree
    const above = chainAbove(tree, 'research', enterprise(500, 80, 10))
    expect(inheritedOf(above)).toMatchObject({ id: 'ent', name: null, limit: 80 })
    expect(bindingOf(above)).toMatchObject({ id: 'research', remaining: 5 })
    expect(bindingOf(vision === undefined ? [] : [own(vision), ...above])).toMatchObject({ id: 'research' })
    expect(inheritedOf(chainAbove(tree, null, enterprise(30, 80, 10)))).toMatchObject({ name: 'Engines', limit: 30 })
    expect(bindingOf(chainAbove([], null, enterprise(null, null, 10)))).toBeNull()
  })
})

describe('the capture of an enterprise', () => {
  it('keeps its patterns when it is turned off: they hold for keys with their own setting', () => {
    const capture = { requests: true, answers: false, sample: 0.125, redact: ['[A-Z]{2}[0-9]{20}'], retain_days: 7 }
    const draft = captureDraftOf(capture)
    expect(captureBodyOf(draft)).toEqual(capture)
    expect(captureBodyOf({ ...draft, requests: false })).toEqual({ ...capture, requests: false })
    expect(captureBodyOf({ ...draft, requests: false, redact: [] })).toBeNull()
    expect(captureBodyOf(captureDraftOf(null))).toBeNull()
  })
})

describe('an alert that is typed', () => {
  it('becomes the body of the API: addresses with a scheme are webhooks', () => {
    const receivers = [
      { id: null, address: ' https://hooks.example.com/a ' },
      { id: 'chan_1', address: 'ops@example.com' },
      { id: null, address: '' },
    ]
    expect(bodyOf({ ...EMPTY_ALERT, threshold: '75', receivers, isQuiet: true })).toEqual({
      kind: 'budget',
      name: null,
      threshold: 75,
      owners: null,
      min_requests: null,
      quiet: { from: '22:00', to: '07:00' },
      channels: [{ webhook: 'https://hooks.example.com/a' }, { id: 'chan_1', mail: 'ops@example.com' }],
    })
  })

  it('names what cannot be sent', () => {
    const draft = { ...EMPTY_ALERT, threshold: 'half', isQuiet: true, quietTo: EMPTY_ALERT.quietFrom }
    expect(errorsOf(draft)).toEqual({ threshold: 'number', receivers: 'none', quiet: 'same' })
    expect(errorsOf({ ...draft, threshold: '2,5', min_requests: '1,000' })).toMatchObject({ threshold: 'number' })
    expect(errorsOf({ ...draft, threshold: '2,5', min_requests: '1,000' })).not.toHaveProperty('min_requests')
  })
})

describe('the export of the audit log', () => {
  const entry: AuditEntry = {
    ...{ id: 'audit_1', time: '2026-11-25T12:00:00Z', user_id: null, role: null, operation: 'updateMember' },
    ...{ path: '/v1', enterprise_id: 'ent', target_id: '=1+1', sent: null, address: '::1', request_id: 'req_1' },
    ...{ changes: [{ field: 'name', old: 'a "b"', new: 'c,d' }], outcome: 'done', error_code: null },
  }

  it('quotes what CSV and spreadsheets would read otherwise', () => {
    const [head, line] = csvOf([entry]).split('\r\n')
    expect(head).toBe('time,user_id,role,operation,target_id,outcome,error_code,address,request_id,path,changes')
    expect(line).toBe(
      `2026-11-25T12:00:00Z,,,updateMember,'=1+1,done,,::1,req_1,/v1,"[{""field"":""name"",""old"":""a \\""b\\"""",""new"":""c,d""}]"`,
    )
    expect(JSON.parse(ndjsonOf([entry]))).toEqual(entry)
  })
})
