import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { Credentials } from '../../src/control/management/credentials.ts'
import { hashPassword } from '../../src/control/management/passwords.ts'
import { SecondFactor } from '../../src/control/management/second-factor.ts'
import { sessionHandlers } from '../../src/control/management/session-handlers.ts'
import { Sessions } from '../../src/control/management/sessions.ts'
import { Tokens } from '../../src/control/management/tokens.ts'
import type { Database } from '../../src/control/store/database.ts'
import {
  findIdentity,
  insertIdentity,
  insertSignInCode,
  removeOldSignInCodes,
  takeSignInCode,
} from '../../src/control/store/identities.ts'
import {
  findMailedToken,
  insertMailedToken,
  removeOldMailedTokens,
  takeMailedToken,
} from '../../src/control/store/mailed-tokens.ts'
import { migrate } from '../../src/control/store/migrate.ts'
import {
  boundSessions,
  endSession,
  findSession,
  listSessions,
  MAX_SESSIONS,
  noteSession,
  removeOldSessions,
  revokeToken,
} from '../../src/control/store/sessions.ts'
import { countTotpGuess, findTotp, forgiveTotpGuess, putTotp } from '../../src/control/store/totp.ts'
import {
  deleteUser,
  findSignInState,
  findUser,
  findUserByVerifiedEmail,
  insertUser,
  setVerifiedEmail,
  updateUser,
} from '../../src/control/store/users.ts'
import type { User } from '../../src/control/store/users.ts'
import { systemClock } from '../../src/shared/runtime/clock.ts'
import { callOf } from '../support/call-of.ts'

const HOUR_MS = 3_600_000
const PAGE = { offset: 0, limit: 1_000 }
const from = (ms: number): Date => new Date(Date.now() + ms)

/** Changes the password of a user as soon as the old one is proven. */
class Overtaken extends Credentials {
  readonly #database: Database

  constructor(database: Database) {
    super(systemClock)
    this.#database = database
  }

  override async prove(...guess: Parameters<Credentials['prove']>): Promise<User> {
    const user = await super.prove(...guess)
    await updateUser(this.#database, user.id, { passwordHash: 'of the new password' })
    return user
  }
}

/** Expiry and races, which tests over HTTP cannot wait for. */
export function signInContract(open: () => Promise<Database>): void {
  describe('what a log-in stores', () => {
    let database: Database
    beforeAll(async () => {
      database = await open()
      await migrate(database)
    })
    afterAll(() => database.close())
    beforeEach(async () => {
      await database.script('TRUNCATE users, revoked_tokens CASCADE')
      const user = { name: 'Ada', passwordHash: null, role: 'user', status: 'active' } as const
      await insertUser(database, { ...user, id: 'ada', phone: '+12025550100' })
      await insertUser(database, { ...user, id: 'eve', phone: null })
    })

    const note = (id: string, expiresAt = from(HOUR_MS), userId = 'ada', generation = 0): Promise<void> =>
      noteSession(database, {
        id,
        userId,
        generation,
        userAgent: 'a\0',
        address: '::1',
        issuedAt: new Date(),
        expiresAt,
      })
    const listed = async (userId = 'ada'): Promise<string[]> =>
      (await listSessions(database, userId, PAGE)).sessions.map(({ id }) => id)

    it('takes tokens that are mailed once, for their purpose, before they expire', async () => {
      const token = { userId: 'ada', email: 'ada@example.com', purpose: 'reset_password' } as const
      await insertMailedToken(database, { ...token, digest: 'good', expiresAt: from(HOUR_MS) })
      await insertMailedToken(database, { ...token, digest: 'late', expiresAt: from(-1) })
      for (const find of [findMailedToken, takeMailedToken]) {
        expect(await find(database, 'late', 'reset_password')).toBeNull()
        expect(await find(database, 'good', 'verify_email')).toBeNull()
      }
      expect(await takeMailedToken(database, 'good', 'reset_password')).toEqual({
        userId: 'ada',
        email: 'ada@example.com',
      })
      expect(await takeMailedToken(database, 'good', 'reset_password')).toBeNull()
      expect(await removeOldMailedTokens(database)).toBe(1)
    })

    it('keeps three open tokens of a user for one purpose', async () => {
      const insert = (digest: string, purpose: 'reset_password' | 'verify_email', userId = 'ada'): Promise<boolean> =>
        insertMailedToken(database, { userId, email: 'a@example.com', purpose, digest, expiresAt: from(HOUR_MS) })
      const made = []
      for (const digest of ['1', '2', '3', '4']) made.push(await insert(digest, 'reset_password'))
      expect(made).toEqual([true, true, true, false])
      expect([await insert('5', 'verify_email'), await insert('6', 'reset_password', 'eve')]).toEqual([true, true])
    })

    it('counts guesses at codes in a time, and takes right ones back', async () => {
      await putTotp(database, 'ada', Buffer.from('sealed'))
      const guess = (perSeconds: number): Promise<number> => countTotpGuess(database, 'ada', { guesses: 2, perSeconds })
      expect([await guess(900), await guess(900)]).toEqual([0, 0])
      expect(await guess(900)).toBeGreaterThan(800)
      await forgiveTotpGuess(database, 'ada')
      expect(await guess(900)).toBe(0)
      expect(await guess(900)).toBeGreaterThan(800)
      // The time is over.
      expect(await guess(0)).toBe(0)
    })

    it('forgets with what a deleted user logged in', async () => {
      await insertIdentity(database, 'ada', { issuer: 'i', subject: 's' })
      await insertSignInCode(database, { digest: 'code', userId: 'ada', expiresAt: from(HOUR_MS) })
      const token = { userId: 'ada', email: 'a@example.com', purpose: 'verify_email' } as const
      await insertMailedToken(database, { ...token, digest: 'token', expiresAt: from(HOUR_MS) })
      await putTotp(database, 'ada', Buffer.from('sealed'))
      await setVerifiedEmail(database, 'ada', 'a@example.com')
      expect(await findSignInState(database, 'ada')).toEqual({ totp: false, pendingEmail: 'a@example.com' })
      await database.transaction((tx) => deleteUser(tx, 'ada'))
      expect(await findIdentity(database, { issuer: 'i', subject: 's' })).toBeNull()
      expect(await takeSignInCode(database, 'code')).toBeNull()
      expect(await takeMailedToken(database, 'token', 'verify_email')).toBeNull()
      expect(await findTotp(database, 'ada')).toBeNull()
      expect(await findUserByVerifiedEmail(database, 'a@example.com')).toBeNull()
      expect(await setVerifiedEmail(database, 'eve', 'A@example.com')).toBe(true)
      expect((await findUserByVerifiedEmail(database, 'a@example.com'))?.id).toBe('eve')
    })

    it('takes codes of log-ins once, before they expire', async () => {
      await insertSignInCode(database, { digest: 'good', userId: 'ada', expiresAt: from(HOUR_MS) })
      await insertSignInCode(database, { digest: 'late', userId: 'ada', expiresAt: from(-1) })
      expect(await takeSignInCode(database, 'late')).toBeNull()
      expect(await takeSignInCode(database, 'good')).toBe('ada')
      expect(await takeSignInCode(database, 'good')).toBeNull()
      expect(await removeOldSignInCodes(database)).toBe(1)
    })

    it('lists the sessions of a user that are good, and forgets those that have expired', async () => {
      await note('a')
      await note('b')
      await note('expired', from(-1))
      await note('theirs', from(HOUR_MS), 'eve')
      expect((await listed()).sort()).toEqual(['a', 'b'])
      expect(await endSession(database, 'ada', 'theirs')).toBe(false)
      expect(await endSession(database, 'ada', 'expired')).toBe(false)
      expect(await endSession(database, 'ada', 'a')).toBe(true)
      expect(await findSession(database, 'ada', 'a')).toMatchObject({ revoked: true, lastUsedAt: null })
      // A call that was under way when the session ended does not bring it back.
      await note('a')
      await revokeToken(database, 'b', from(HOUR_MS))
      expect(await listed()).toEqual([])
      expect(await removeOldSessions(database)).toBe(1)
      expect(await listed('eve')).toEqual(['theirs'])
    })

    it('forgets the sessions before a change of the password', async () => {
      await note('before')
      await updateUser(database, 'ada', { passwordHash: 'x' })
      expect(await listed()).toEqual([])
      await note('after', from(HOUR_MS), 'ada', 1)
      await boundSessions(database, 'ada')
      expect(await listed()).toEqual(['after'])
    })

    it('leaves no use to an old password that is proven while another one replaces it', async () => {
      const password = 'correct horse battery'
      const tokens = new Tokens([{ kid: 'a', secret: randomBytes(32) }])
      const handlers = sessionHandlers({
        database,
        reading: database,
        sessions: new Sessions(database, tokens, { currency: 'USD' }),
        credentials: new Overtaken(database),
        secondFactor: new SecondFactor(systemClock, database, randomBytes(32)),
        registrationOpen: false,
      })
      const origin = { address: '127.0.0.1', message: { headers: {} }, caller: { userId: 'ada' } }

      await updateUser(database, 'ada', { passwordHash: await hashPassword(password, { phone: null }) })
      const { token } = await handlers.login(callOf<'login'>({ ...origin, body: { phone: '+12025550100', password } }))
      const issued = await tokens.verify(token)
      expect((await findSession(database, 'ada', issued.tokenId))?.generation).toBe(issued.generation + 1)
      expect(await listed()).toEqual([])

      await updateUser(database, 'ada', { passwordHash: await hashPassword(password, { phone: null }) })
      const body = { old_password: password, new_password: 'another horse battery' }
      const changed = handlers.changePassword(callOf<'changePassword'>({ ...origin, body }))
      await expect(changed).rejects.toMatchObject({ code: 'LOGIN_FAILED' })
      expect((await findUser(database, 'ada'))?.passwordHash).toBe('of the new password')
    })

    it('ends the least recently used sessions above the most', async () => {
      for (let number = 0; number <= MAX_SESSIONS; number++) await note(`s${number}`)
      // Notes of the same millisecond have no order.
      await database.query(
        "UPDATE user_sessions SET last_used_at = now() - interval '1 s' * (200 - substr(id, 2)::int)",
      )
      await note('s0')
      await boundSessions(database, 'ada')
      const left = await listed()
      expect(left).toHaveLength(MAX_SESSIONS)
      expect(left).toContain('s0')
      expect(await findSession(database, 'ada', 's1')).toMatchObject({ revoked: true })
    })
  })
}
