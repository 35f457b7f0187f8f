import { Credentials } from '../../src/front/upstream/credentials.ts'

const client = {
  send: (): never => {
    throw new Error('no token is to be fetched here')
  },
  close: (): Promise<void> => Promise.resolve(),
}

/** For tests in which no key is a service account. */
export const noCredentials = new Credentials(client, { now: () => 0, monotonicUs: () => 0 })
