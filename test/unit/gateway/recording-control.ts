import type { GatewayError } from '../../../src/shared/core/errors.ts'
import type { AttemptControl } from '../../../src/front/gateway/answer-receiver.ts'

export class RecordingControl implements AttemptControl {
  readonly calls: string[] = []
  error: GatewayError | null = null
  /** Chunks that brought a whole event. */
  progress = 0

  progressed(): void {
    this.progress += 1
  }
  pause(): void {
    this.calls.push('pause')
  }
  served(): void {
    this.calls.push('served')
  }
  failed(error: GatewayError): void {
    this.calls.push('failed')
    this.error = error
  }
  broken(error: GatewayError): void {
    this.calls.push('broken')
    this.error = error
  }
}
