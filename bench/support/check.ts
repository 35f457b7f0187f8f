import type { Program } from '../../src/cli/bench/programs.ts'

const SHOWN = 60

/** Rejects unless the target gives the same answer as the simulator: a fast but wrong answer is worthless. */
export async function checkAnswer(direct: Program, target: Program, body: string): Promise<void> {
  const [expected, actual] = await Promise.all([textOf(direct, body), textOf(target, body)])
  if (expected === '' || expected !== actual) {
    let at = 0
    while (at < actual.length && expected[at] === actual[at]) at++
    const around = (text: string): string => JSON.stringify(text.slice(Math.max(0, at - SHOWN), at + SHOWN))
    throw new Error(
      `${target.baseUrl} answers ${around(actual)} where the simulator itself answers ${around(expected)}`,
    )
  }
}

/** Rejects unless the target's answer has the same text as the simulator's, in any format. */
export async function checkText(direct: Program, target: Program, body: string): Promise<void> {
  const [expected, actual] = (await Promise.all([textOf(direct, body), textOf(target, body)])).map(contentOf)
  if (expected === '' || expected !== actual) {
    throw new Error(`${target.baseUrl} says ${JSON.stringify(actual?.slice(0, SHOWN))}, not what the simulator says`)
  }
}

function contentOf(answer: string): string {
  return [...answer.matchAll(/"content":("(?:[^"\\]|\\.)*")/g)]
    .map(([, text = '""']) => JSON.parse(text) as string)
    .join('')
}

/** The answer without its id and creation time, which differ in every answer. */
async function textOf(program: Program, body: string): Promise<string> {
  const answer = await fetch(`${program.baseUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...program.headers },
    body,
  })
  const text = await answer.text()
  return `${answer.status} ${text.replace(/"id":"[^"]*"/g, '"id":""').replace(/"created":\d+/g, '"created":0')}`
}
