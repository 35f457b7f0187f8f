/** What is known of a request that wants a job, so that it is not begun twice. */
export type Claim =
  /** Nothing: the caller may begin it, and has to tell what became of it. */
  | { readonly kind: 'new' }
  /** It has been begun as this job. */
  | { readonly kind: 'job'; readonly id: string }
  /** It is just being begun. */
  | { readonly kind: 'busy' }
  /** Whether it has been begun is not known. */
  | { readonly kind: 'unknown' }

export interface ClaimRequest {
  /** The key that asks. */
  readonly owner: string
  /** Of its request, unique for the owner. */
  readonly fingerprint: string
  readonly untilMs: number
}

/** A front's word on a claim; `claim` and `begun` are answered. */
export interface ClaimMessage extends ClaimRequest {
  readonly type: 'job-claim'
  /** Its number, which the answer names. */
  readonly question: number
  readonly action: 'claim' | 'begun' | 'release' | 'doubt'
  /** Of `begun`. */
  readonly job: string | null
}

/** How a job that was begun has ended. */
export interface JobOver {
  readonly type: 'job-over'
  readonly job: string
  readonly errorCode: string | null
}

export interface ClaimReply {
  readonly type: 'job-claim-reply'
  readonly question: number
  /** Null: nothing can be said at the moment. */
  readonly claim: Claim | null
}
