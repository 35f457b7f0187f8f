import type { Choice } from '../../shared/core/deployment.ts'
import type { AttemptRecord } from '../../shared/core/request-record.ts'

/** Returns the same text as `JSON.stringify(attempts)`, in half its time. */
export function attemptsJson(attempts: readonly AttemptRecord[]): string {
  let json = '['
  for (const [index, attempt] of attempts.entries()) json += (index === 0 ? '' : ',') + attemptJson(attempt)
  return json + ']'
}

function attemptJson(attempt: AttemptRecord): string {
  const { providerId, upstreamKeyId, status, outcome, startUs, durationUs, model, choice, dropped } = attempt
  return `{"providerId":${quoted(providerId)},"upstreamKeyId":${quoted(upstreamKeyId)},"status":${number(status)},"outcome":${quoted(outcome)},"startUs":${number(startUs)},"durationUs":${number(durationUs)},"model":${model === null ? 'null' : quoted(model)},"choice":${choice === null ? 'null' : choiceJson(choice)},"dropped":${dropped.length === 0 ? '[]' : JSON.stringify(dropped)}}`
}

function choiceJson({ how, score, waitUs, others }: Choice): string {
  const othersJson = others.length === 0 ? '[]' : JSON.stringify(others)
  return `{"how":${quoted(how)},"score":${score === null ? 'null' : number(score)},"waitUs":${number(waitUs)},"others":${othersJson}}`
}

/** JSON has no infinity and no NaN. */
function number(value: number): string {
  return Number.isFinite(value) ? String(value) : 'null'
}

function quoted(text: string): string {
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index)
    if (unit < 0x20 || unit > 0x7e || unit === QUOTE || unit === BACKSLASH) return JSON.stringify(text)
  }
  return `"${text}"`
}

const QUOTE = 0x22
const BACKSLASH = 0x5c
