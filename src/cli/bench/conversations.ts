import type { TraceRequest } from './traces.ts'

/** A request of a trace as one turn of a conversation. */
export interface Turn {
  readonly atMs: number
  readonly blocks: readonly number[]
  /** Number of the conversation. */
  readonly conversation: number
  /** The blocks of each message of the user so far; the first block of the first is the system prompt. */
  readonly messages: ReadonlyArray<readonly number[]>
}

/** All prompts of a trace share their first block. A prompt that repeats no more than this continues nothing. */
const LEAST_SHARED = 2

interface Node {
  readonly next: Map<number, Node>
  /** The latest turn whose prompt ends here, without its last block, which is seldom full. */
  turn: Turn | null
}

/** Finds the conversations in a trace with blocks: a prompt that begins with the whole of an earlier one continues it. */
export function conversationsOf(trace: readonly TraceRequest[]): Turn[] {
  const root: Node = { next: new Map(), turn: null }
  let conversations = 0
  return trace.map(({ atMs, blocks: known }) => {
    const blocks = known ?? []
    let node = root
    let earlier: Turn | null = null
    let shared = 0
    for (const [index, block] of blocks.slice(0, -1).entries()) {
      let child = node.next.get(block)
      if (child === undefined) {
        child = { next: new Map(), turn: null }
        node.next.set(block, child)
      }
      node = child
      if (node.turn !== null && index + 1 >= LEAST_SHARED) {
        earlier = node.turn
        shared = index + 1
      }
    }
    const turn: Turn =
      earlier === null
        ? { atMs, blocks, conversation: conversations++, messages: [blocks] }
        : {
            atMs,
            blocks,
            conversation: earlier.conversation,
            messages: [...earlier.messages, blocks.slice(shared)],
          }
    node.turn = turn
    return turn
  })
}
