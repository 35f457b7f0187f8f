import { randomUUID } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { postUsage } from '../../src/control/ledger/post-usage.ts'
import { reconcile } from '../../src/control/ledger/reconcile.ts'
import { readStatement } from '../../src/control/ledger/statement.ts'
import { findWallet, listWalletTransactions, moveWallet } from '../../src/control/ledger/wallet.ts'
import type { Movement } from '../../src/control/ledger/wallet.ts'
import type { Database } from '../../src/control/store/database.ts'
import { snapshotVersion } from '../../src/control/store/entry-keys.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import { DAY_MS } from '../../src/control/store/partitions.ts'
import { listTenants } from '../../src/control/store/tenants.ts'
import fc from '../support/fast-check.ts'

/** Money, on either database. */
export function ledgerContract(open: () => Promise<Database>): void {
  describe('as a ledger', () => {
    let database: Database

    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    afterAll(() => database.close())

    async function enterprise(): Promise<string> {
      const id = `e-${randomUUID()}`
      await database.query(`INSERT INTO enterprises (id, name, is_prepaid) VALUES ($1, 'Acme', true)`, [id])
      return id
    }

    const movement = (enterpriseId: string, amountMicro: bigint, changes: Partial<Movement> = {}): Movement => ({
      id: randomUUID(),
      enterpriseId,
      kind: 'adjustment',
      amountMicro,
      reference: null,
      actor: 'user-1',
      ...changes,
    })

    const balance = async (id: string) => (await findWallet(database, id))?.balanceMicro

    it('books a top-up once, however often and by how many at a time it is asked for', async () => {
      const id = await enterprise()
      const topUp = movement(id, 500n, { kind: 'topup', reference: 'invoice 7' })
      const results = await Promise.all(Array.from({ length: 8 }, () => moveWallet(database, topUp)))

      const outcomes = results.map(({ outcome }) => outcome).sort()
      expect(outcomes).toEqual(['done', ...Array.from({ length: 7 }, () => 'repeated')])
      expect(await balance(id)).toBe(500n)
      expect(await listWalletTransactions(database, id, { limit: 10, after: null })).toMatchObject([
        { id: topUp.id, kind: 'topup', amountMicro: 500n, reference: 'invoice 7', actor: 'user-1' },
      ])
    })

    it('refuses an id that stands for another movement', async () => {
      const id = await enterprise()
      const other = await enterprise()
      const first = movement(id, 5n)
      await moveWallet(database, first)

      for (const second of [
        { ...first, amountMicro: 6n },
        { ...first, enterpriseId: other },
      ]) {
        expect(await moveWallet(database, second)).toEqual({ outcome: 'conflict' })
      }
      expect([await balance(id), await balance(other)]).toEqual([5n, 0n])
    })

    it('never pays out more than there is, whoever asks at the same time', async () => {
      const id = await enterprise()
      await moveWallet(database, movement(id, 100n, { kind: 'topup' }))
      const refunds = Array.from({ length: 12 }, () => movement(id, -30n, { kind: 'refund' }))
      const results = await Promise.all(refunds.map((refund) => moveWallet(database, refund)))

      expect(results.filter(({ outcome }) => outcome === 'done')).toHaveLength(3)
      expect(results.filter(({ outcome }) => outcome === 'insufficient')).toHaveLength(9)
      expect(await balance(id)).toBe(10n)
    })

    it('pays nothing out of a wallet that never was, and moves none of an enterprise that does not exist', async () => {
      const id = await enterprise()
      expect(await moveWallet(database, movement(id, -1n))).toEqual({ outcome: 'insufficient' })
      expect(await moveWallet(database, movement('nobody', 1n))).toEqual({ outcome: 'unknown-enterprise' })
      await expect(moveWallet(database, movement(id, 0n))).rejects.toThrow(RangeError)
      await expect(moveWallet(database, movement(id, -1n, { kind: 'topup' }))).rejects.toThrow(RangeError)
    })

    it('posts what a batch cost once, and below nothing where it cost more than there was', async () => {
      const [first, second] = [await enterprise(), await enterprise()]
      await moveWallet(database, movement(first, 10n, { kind: 'topup' }))
      const batch = randomUUID()
      const costs = new Map([
        [first, 12],
        [second, 3],
        ['free', 0],
      ])
      await postUsage(database, batch, costs)
      await expect(postUsage(database, batch, costs)).rejects.toMatchObject({ sqlState: '23505' })

      expect([await balance(first), await balance(second)]).toEqual([-2n, -3n])
    })

    it('tells an old month with what the wallet held at its end', async () => {
      const id = await enterprise()
      const add = (at: string, kind: string, amount: number): Promise<unknown> =>
        database.query(
          `INSERT INTO ledger_transactions (id, enterprise_id, kind, from_account, to_account, amount_micro, at)
            VALUES ($1, $2, $3, $4, $5, $6, $7)`,
          [
            `${id} ${at}`,
            id,
            kind,
            ...(amount > 0 ? ['payments', 'wallet'] : ['wallet', 'usage']),
            Math.abs(amount),
            at,
          ],
        )
      await database.query('INSERT INTO wallets (enterprise_id, credited_micro, charged_micro) VALUES ($1, 150, 26)', [
        id,
      ])
      await add('2026-01-31T23:59:59.999Z', 'topup', 100)
      await add('2026-02-01T00:00:00Z', 'usage', -3)
      await add('2026-02-01T12:00:00Z', 'usage', -4)
      await add('2026-02-28T23:59:59.999Z', 'topup', 50)
      await add('2026-03-01T00:00:00Z', 'usage', -9)
      await add('2026-05-01T00:00:00Z', 'usage', -10)
      const monthOf = (month: number) => ({
        days: Array.from(
          { length: Date.UTC(2026, month + 1, 0) / DAY_MS - Date.UTC(2026, month, 0) / DAY_MS },
          (_, day) => Date.UTC(2026, month, day + 1),
        ),
        endMs: Date.UTC(2026, month + 1),
      })
      const told = await Promise.all([0, 1, 2, 3, 4].map((month) => readStatement(database, id, monthOf(month), 10)))
      expect(told.map((statement) => statement?.closing)).toEqual([100, 143, 134, 134, 124])
      expect(told[1]).toMatchObject({
        sums: { topup: 50, refund: 0, adjustment: 0, usage: -7 },
        lines: [
          { kind: 'topup', amount: 50, dayMs: null },
          { kind: 'usage', amount: -7, id: null, dayMs: Date.UTC(2026, 1, 1) },
        ],
        omitted: 0,
      })
      expect(told[3]).toMatchObject({ lines: [], omitted: 0 })
    })

    it('finds what two books say differently, and nothing where they agree', async () => {
      const before = await reconcile(database)
      expect(before.drifts.filter(({ what }) => what.startsWith('entries'))).toEqual([])
      const id = await enterprise()
      await moveWallet(database, movement(id, 70n, { kind: 'topup' }))
      const driftsOf = async () => (await reconcile(database)).drifts.filter(({ of }) => of.includes(id))
      expect(await driftsOf()).toEqual([])

      await database.query('UPDATE wallets SET credited_micro = 71 WHERE enterprise_id = $1', [id])
      await database.query(`INSERT INTO budget_use VALUES ($1, '', 5, 0)`, [`wallet:${id}`])
      await postUsage(database, randomUUID(), new Map([[id, 4]]))
      expect(await driftsOf()).toEqual([
        { what: 'spent by an enterprise: log, ledger', of: id, left: 0n, right: 4n },
        { what: 'balance of a wallet: ledger, wallet', of: id, left: 66n, right: 67n },
        { what: 'charged to a wallet: wallet, budgets', of: id, left: 4n, right: 5n },
      ])
      expect((await reconcile(database)).enterprises).toContainEqual({
        enterpriseId: id,
        log: 0n,
        ledger: 4n,
        wallet: 4n,
        budgets: 5n,
      })
    })

    it('is only ever added to', async () => {
      await moveWallet(database, movement(await enterprise(), 1n))
      for (const change of ['UPDATE ledger_transactions SET amount_micro = 2', 'DELETE FROM ledger_transactions']) {
        await expect(database.script(change)).rejects.toThrow('only ever added to')
      }
      await expect(database.script('TRUNCATE ledger_transactions')).rejects.toThrow('only ever added to')
    })

    it('tells the fronts of money that was paid in, and not of what requests cost', async () => {
      const id = await enterprise()
      const before = await snapshotVersion(database)
      await postUsage(database, randomUUID(), new Map([[id, 5]]))
      await postUsage(database, randomUUID(), new Map([[id, 5]]))
      expect(await snapshotVersion(database)).toBe(before)
      await moveWallet(database, movement(id, 50n))
      expect(await snapshotVersion(database)).toBeGreaterThan(before)
      expect((await listTenants(database)).enterprises.get(id)?.creditedMicro).toBe(50)
    })

    it('balances after any movements at the same time: each one is two entries, and wallets are their sums', async () => {
      const amounts = fc.bigInt({ min: -100n, max: 100n }).filter((amount) => amount !== 0n)
      const steps = fc.array(fc.oneof(amounts, fc.record({ cost: fc.nat({ max: 60 }) })), { maxLength: 20 })
      await fc.assert(
        fc.asyncProperty(steps, async (moves) => {
          const id = await enterprise()
          let expected = 0n
          const done = moves.map(async (move) => {
            if (typeof move === 'object') {
              await postUsage(database, randomUUID(), new Map([[id, move.cost]]))
              expected -= BigInt(move.cost)
              return
            }
            const { outcome } = await moveWallet(database, movement(id, move))
            if (outcome === 'done') expected += move
            else expect([outcome, move < 0n]).toEqual(['insufficient', true])
          })
          await Promise.all(done)

          expect(await balance(id)).toBe(expected)
          const [sums] = await database.query<{ all: string; wallet: string }>(
            `SELECT coalesce(sum(amount_micro), 0)::text AS all,
                coalesce(sum(amount_micro) FILTER (WHERE account = 'wallet'), 0)::text AS wallet
              FROM ledger_entries WHERE enterprise_id = $1`,
            [id],
          )
          expect(sums).toEqual({ all: '0', wallet: expected.toString() })
          const unbalanced = await database.query(
            `SELECT transaction_id FROM ledger_entries WHERE enterprise_id = $1
              GROUP BY transaction_id HAVING sum(amount_micro) <> 0 OR count(*) <> 2`,
            [id],
          )
          expect(unbalanced).toEqual([])
        }),
        { numRuns: 25 },
      )
    })
  })
}
