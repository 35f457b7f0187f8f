import type { Clock } from '../../shared/runtime/clock.ts'
import { GatewayError } from '../../shared/core/errors.ts'
import type { User } from '../store/users.ts'
import { LoginThrottle } from './login-throttle.ts'
import { hashPassword, verifyPassword } from './passwords.ts'

/** Checks and hashes passwords, with limits on hashing and on guessing that all operations share. */
export class Credentials {
  readonly #throttle: LoginThrottle

  constructor(clock: Clock) {
    this.#throttle = new LoginThrottle({ clock })
  }

  /**
   * Checks the password of an active user, then runs `also`, whose LOGIN_FAILED and CODE_INVALID count as guesses too. Throws
   * LOGIN_FAILED or LOGIN_THROTTLED.
   *
   * @param name what the client names the user by; guesses are counted by it
   */
  prove(
    user: User | null,
    guess: { readonly name: string; readonly password: string; readonly address: string },
    also: (user: User) => Promise<void> = () => Promise.resolve(),
  ): Promise<User> {
    return this.#throttle.login(guess.name, guess.address, async () => {
      const active = user !== null && user.status === 'active'
      const matches = await verifyPassword(active ? user.passwordHash : null, guess.password)
      if (!active || !matches) throw new GatewayError('LOGIN_FAILED')
      await also(user)
      return user
    })
  }

  /** Checks the password of the caller. Throws LOGIN_FAILED, LOGIN_THROTTLED, or CONFLICT when the caller has no password. */
  async proveCaller(user: User, password: string, address: string): Promise<User> {
    if (user.passwordHash === null) {
      throw new GatewayError('CONFLICT', {
        message: 'Your account has no password: you log in through the OpenID provider, and change these things there.',
      })
    }
    return this.prove(user, { name: user.phone ?? user.id, password, address })
  }

  hash(password: string, of: { readonly phone: string | null; readonly param?: string }): Promise<string> {
    return this.#throttle.inTurn(() => hashPassword(password, of))
  }
}
