import type { Replicas } from './replicas.ts'
import type { Rows } from './rows.ts'

/** A gateway under load. */
export interface Target {
  readonly kind: 'laboratory' | 'deployment'
  /** Ends without `/v1`. */
  readonly url: string
  readonly key: string
  readonly model: string
  /** A simulator answers: the bench says how, and nobody pays. */
  readonly isSimulated: boolean
  /** Root process of the gateway; null: it runs elsewhere. */
  readonly pid: number | null
  /** The request log; null: nobody may read it. */
  readonly rows: Rows | null
  /** Keys for the scenario of many keys. */
  readonly keys: readonly string[]
  /** Null: the target is a deployment. */
  readonly laboratory: Laboratory | null
  stop(): Promise<void>
}

/** The parts of the built-in laboratory that a deployment has not. */
export interface Laboratory {
  /** URL of the simulator, without `/v1`. */
  readonly simulatorUrl: string
  /** The model of an upstream of another dialect. */
  readonly translatedModel: string
  /** A model with two upstream keys. */
  readonly failoverModel: string
  /** Credentials of these upstream keys. */
  readonly failoverCredentials: readonly [string, string]
  /** An entry key with a limit of one request a minute. */
  readonly limitedKey: string
  /** Upstreams with a prompt cache. */
  readonly replicas: Replicas
  readonly replicaModel: string
  /** Resolves when all requests so far have their rows. */
  settled(requestId: string): Promise<void>
}
