/** The state of a request that begins a job, so that the job does not begin twice. */
export type Claim =
  /** Not known before: the caller may begin the job, and must report the outcome. */
  | { readonly kind: 'new' }
  /** The request has begun this job. */
  | { readonly kind: 'job'; readonly id: string }
  /** Another call is beginning the job now. */
  | { readonly kind: 'busy' }
  /** The job may have begun or not. */
  | { readonly kind: 'unknown' }

export interface ClaimRequest {
  /** The key of the request. */
  readonly owner: string
  /** Fingerprint of the request, unique for the owner. */
  readonly fingerprint: string
  readonly untilMs: number
}

/** A message of a front about a claim. `claim` and `begun` get a reply. */
export interface ClaimMessage extends ClaimRequest {
  readonly type: 'job-claim'
  /** Number of the message, which the reply repeats. */
  readonly question: number
  readonly action: 'claim' | 'begun' | 'release' | 'doubt'
  /** The job that has begun; null for other actions. */
  readonly job: string | null
}

/** The end of a job. */
export interface JobOver {
  readonly type: 'job-over'
  readonly job: string
  readonly errorCode: string | null
}

export interface ClaimReply {
  readonly type: 'job-claim-reply'
  readonly question: number
  /** Null: the state is not known at the moment. */
  readonly claim: Claim | null
}
