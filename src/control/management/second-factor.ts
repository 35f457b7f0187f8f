import type { Clock } from '../../shared/runtime/clock.ts'
import { deriveKey, Seal } from '../../shared/runtime/seal.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { Queryable } from '../store/database.ts'
import {
  confirmTotp,
  countTotpGuess,
  findTotp,
  forgiveTotpGuess,
  putRecoveryCodes,
  putTotp,
  takeRecoveryCode,
  takeTotpStep,
} from '../store/totp.ts'
import type { StoredTotp } from '../store/totp.ts'
import { digestOfRecoveryCode, enrolment, newRecoveryCodes, newTotpSecret, stepOf } from './totp.ts'

/** Of one user, from all addresses together: only somebody who knows the password gets here. */
const GUESSES = { guesses: 10, perSeconds: 15 * 60 } as const

const OFF = 'One-time passwords are not on.'
const NOTHING_TO_CONFIRM = 'There is no new secret to confirm: begin with POST /api/auth/totp.'

/** One-time passwords of users. Their secrets are sealed, and each code works once. */
export class SecondFactor {
  readonly #clock: Clock
  readonly #seal: Seal
  readonly #recoveryKey: Buffer
  readonly #database: Queryable

  /**
   * @param database checks codes outside of the transaction of a change: a failed change must not bring a used code or a guess back
   * @param secret the server's secret; keys are derived from it
   */
  constructor(clock: Clock, database: Queryable, secret: Buffer) {
    this.#clock = clock
    this.#database = database
    this.#seal = new Seal(secret, 'one-time passwords')
    this.#recoveryKey = deriveKey(secret, 'recovery codes')
  }

  /**
   * Checks the code of a user who has a second factor, and uses it up. Throws CODE_REQUIRED, CODE_INVALID, or LOGIN_THROTTLED after
   * too many wrong codes. In a change, call it before the first statement.
   */
  async check(userId: string, code: string | undefined): Promise<void> {
    const stored = await findTotp(this.#database, userId)
    if (stored?.confirmed !== true) return
    if (code === undefined) throw new GatewayError('CODE_REQUIRED', { param: '/code' })
    await this.#check(userId, stored, code)
  }

  /** Throws CONFLICT when the user has no second factor. */
  async requireOn(userId: string): Promise<void> {
    if ((await findTotp(this.#database, userId))?.confirmed === true) return
    throw new GatewayError('CONFLICT', { message: OFF })
  }

  /** Stores a new secret, which the user has to confirm. Throws CONFLICT when the user has a confirmed one. */
  async enrol(
    tx: Queryable,
    userId: string,
    label: string,
  ): Promise<{ readonly secret: string; readonly uri: string }> {
    const secret = newTotpSecret()
    if (!(await putTotp(tx, userId, this.#seal.seal(secret, Buffer.from(userId))))) {
      throw new GatewayError('CONFLICT', { message: 'One-time passwords are on already: turn them off first.' })
    }
    return enrolment(secret, label)
  }

  /** Turns the second factor on, and returns its recovery codes. Throws CONFLICT, CODE_INVALID or LOGIN_THROTTLED. */
  async confirm(tx: Queryable, userId: string, code: string): Promise<string[]> {
    const stored = await findTotp(this.#database, userId)
    if (stored === null || stored.confirmed) throw new GatewayError('CONFLICT', { message: NOTHING_TO_CONFIRM })
    await this.#check(userId, stored, code)
    if (!(await confirmTotp(tx, userId, stored.secret))) {
      throw new GatewayError('CONFLICT', { message: NOTHING_TO_CONFIRM })
    }
    return this.renewRecoveryCodes(tx, userId)
  }

  /** Replaces the recovery codes: earlier ones no longer work. Throws CONFLICT when the user has no second factor. */
  async renewRecoveryCodes(tx: Queryable, userId: string): Promise<string[]> {
    const codes = newRecoveryCodes()
    const digests = codes.flatMap((one) => digestOfRecoveryCode(one, this.#recoveryKey) ?? [])
    if (!(await putRecoveryCodes(tx, userId, digests))) throw new GatewayError('CONFLICT', { message: OFF })
    return codes
  }

  async #check(userId: string, { secret, confirmed }: StoredTotp, code: string): Promise<void> {
    const waitSeconds = await countTotpGuess(this.#database, userId, GUESSES)
    if (waitSeconds > 0) {
      throw new GatewayError('LOGIN_THROTTLED', { message: 'Too many wrong codes.', retryAfterSeconds: waitSeconds })
    }
    const opened = this.#seal.open(secret, Buffer.from(userId))
    const step = opened === null ? null : stepOf(opened, code.replace(/\s/g, ''), this.#clock.now())
    const isTaken = step !== null && (await takeTotpStep(this.#database, userId, step))
    if (!isTaken && !(confirmed && (await this.#takeRecoveryCode(userId, code)))) {
      throw new GatewayError('CODE_INVALID', { param: '/code' })
    }
    await forgiveTotpGuess(this.#database, userId)
  }

  async #takeRecoveryCode(userId: string, code: string): Promise<boolean> {
    const digest = digestOfRecoveryCode(code, this.#recoveryKey)
    return digest !== null && (await takeRecoveryCode(this.#database, userId, digest))
  }
}
