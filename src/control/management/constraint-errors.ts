import { GatewayError } from '../../shared/core/errors.ts'
import { DatabaseError } from '../store/database.ts'

interface Said {
  readonly message: string
  readonly param?: string
}

/** The errors for the client when the database refuses a duplicate (`unique`) or a missing referenced row (`reference`). */
export interface ConstraintErrors {
  readonly unique?: Said
  readonly reference?: Said
}

const UNIQUE_VIOLATION = '23505'
const FOREIGN_KEY_VIOLATION = '23503'

/** Rejects with CONFLICT or INVALID_FIELD when the database reports a mapped constraint violation. */
export async function mapConstraintErrors<Result>(
  { unique, reference }: ConstraintErrors,
  work: Promise<Result>,
): Promise<Result> {
  try {
    return await work
  } catch (cause) {
    const sqlState = cause instanceof DatabaseError ? cause.sqlState : null
    if (sqlState === UNIQUE_VIOLATION && unique !== undefined) throw new GatewayError('CONFLICT', { ...unique, cause })
    if (sqlState === FOREIGN_KEY_VIOLATION && reference !== undefined) {
      throw new GatewayError(reference.param === undefined ? 'CONFLICT' : 'INVALID_FIELD', { ...reference, cause })
    }
    throw cause
  }
}
