(* Releases one after another, functions of releases, several steps, and releases about separate parts of the data. *)
From Coq Require Import Reals Lra List QArith Qreals.
From Discreet Require Import Sums Laws.
Import ListNotations.
Open Scope R_scope.

(*| post_processing
Nothing is lost by what is computed from an outcome. If $M$ is $(\varepsilon, \delta)$-private then so is $g(M)$, for every function $g$ of the outcome.
papers: used throughout
python: discreet.mechanisms.reports, Remapped
by hand: nothing.
test: test_post_processing_world
|*)
Theorem post_processing {X A B} (adj : relation X) (eps delta : R) (M : X -> law A) (g : A -> B) :
  approximately_private adj eps delta M -> approximately_private adj eps delta (fun x => image g (M x)).
Proof. intros h x y n E. rewrite !Pr_image. apply h, n. Qed.

(*| compose_private
The losses of two releases add up, also if the second mechanism is chosen in view of the first outcome. If $M$ is $(\varepsilon_1, \delta_1)$-private and every $N_a$ is $(\varepsilon_2, \delta_2)$-private, then the pair $(a, b)$ with $a \sim M(x)$, $b \sim N_a(x)$ is $(\varepsilon_1 + \varepsilon_2, \delta_1 + \delta_2)$-private.
papers: used throughout
python: Ledger
by hand: nothing.
test: test_composition_world
|*)
Theorem compose_private {X A B} (adj : relation X) (eps1 delta1 eps2 delta2 : R) (M : X -> law A) (N : A -> X -> law B) :
  approximately_private adj eps1 delta1 M -> (forall a, approximately_private adj eps2 delta2 (N a)) ->
  approximately_private adj (eps1 + eps2) (delta1 + delta2) (fun x => pair_law (M x) (fun a => N a x)).
Proof.
  intros hM hN x y n. rewrite exp_plus. apply pair_ratio; try (left; apply exp_pos); [|exact (hM x y n)|intros a; exact (hN a x y n)].
  apply (by_cases (exists a : A, True)); [intros [a _]; apply (delta_nonneg adj eps2 delta2 (N a) x y (hN a) n)|intros none].
  (* a law has an outcome *)
  exfalso. pose proof (sum_over_least _ _ _ 0 (mass_total (M x))) as z. cut (1 <= 0); [lra|]. apply z.
  intros [|a l] _ _; simpl; [lra|]. exfalso. apply none. exists a. exact I.
Qed.

(* Someone who asks again and again: after every outcome the next mechanism, its eps and its delta are chosen, or there is an end. *)
Inductive analyst (X O : Type) :=
  | Stop : analyst X O
  | Ask : R -> R -> (X -> law O) -> (O -> analyst X O) -> analyst X O.
Arguments Stop {X O}. Arguments Ask {X O}.

(* What they ask stays within a budget: every mechanism is as private as it says, and no sum of eps, or of delta, along the way exceeds it. *)
Fixpoint within {X O} (adj : relation X) (budget rest : R) (t : analyst X O) : Prop :=
  match t with
  | Stop => 0 <= budget /\ 0 <= rest
  | Ask eps delta M next => approximately_private adj eps delta M /\ forall o, within adj (budget - eps) (rest - delta) (next o)
  end.

(* The law of all that they see. *)
Definition no_outcome {O} (l : list O) : R := match l with [] => 1 | _ => 0 end.
Lemma no_outcome_nonneg {O} : nonneg (@no_outcome O).
Proof. intros []; simpl; lra. Qed.
Lemma no_outcome_total {O} : sums (@no_outcome O) 1.
Proof.
  apply (sum_over_support (fun l => l = [])); [apply no_outcome_nonneg|intros [|] h; simpl; [congruence|reflexivity]|].
  apply (sum_over_single no_outcome []). apply no_outcome_nonneg.
Qed.

Definition first_then {O} (p : law O) (q : O -> law (list O)) (l : list O) : R := match l with [] => 0 | o :: l' => p o * q o l' end.
Lemma first_then_nonneg {O} (p : law O) q : nonneg (first_then p q).
Proof. intros [|o l]; simpl; [lra|apply Rmult_le_pos; apply mass_nonneg]. Qed.
Lemma first_then_sum {O} (p : law O) q (E : list O -> Prop) :
  sums (fun l => first_then p q l * indicator E l) (Pr (pair_law p q) (fun ol => E (fst ol :: snd ol))).
Proof.
  apply (sum_over_support (fun l => l <> [])).
  - intros l. apply Rmult_le_pos; [apply first_then_nonneg|apply indicator_nonneg].
  - intros [|] h; simpl; [ring|exfalso; apply h; discriminate].
  - apply (sum_over_bijection (fun ol : O * list O => fst ol :: snd ol) everything _ _ _ _) with (5 := Pr_indicator (pair_law p q) _); [discriminate| | |reflexivity].
    + intros [a l] [b l'] _ _ e. simpl in e. congruence.
    + intros [|o l] h; [congruence|]. exists (o, l). split; [exact I|reflexivity].
Qed.
Lemma first_then_total {O} (p : law O) q : sums (first_then p q) 1.
Proof.
  rewrite <- (Pr_everything (pair_law p q)). apply (sum_over_ext everything everything) with (3 := first_then_sum p q everything); [tauto|].
  intros l _. unfold indicator. destruct (decide (everything l)) as [|n]; [ring|exfalso; apply n; exact I].
Qed.

Fixpoint seen {X O} (t : analyst X O) (x : X) : law (list O) :=
  match t with
  | Stop => Law no_outcome no_outcome_nonneg no_outcome_total
  | Ask eps delta M next =>
      let later o := seen (next o) x in Law (first_then (M x) later) (first_then_nonneg _ _) (first_then_total _ _)
  end.

Lemma Pr_first_then {O} (p : law O) q (E : list O -> Prop) :
  Pr (Law (first_then p q) (first_then_nonneg _ _) (first_then_total _ _)) E = Pr (pair_law p q) (fun ol => E (fst ol :: snd ol)).
Proof. apply (sum_over_unique _ _ _ _ (Pr_indicator (Law (first_then p q) _ _) E)), first_then_sum. Qed.

Lemma within_private {X O} (adj : relation X) (budget rest : R) (t : analyst X O) :
  within adj budget rest t -> approximately_private adj budget rest (seen t).
Proof.
  revert budget rest. induction t as [|eps delta M next IH]; intros budget rest w x y n E.
  - destruct w as [b r]. cbn [seen]. set (p := Pr _ E). assert (0 <= p) by apply Pr_nonneg. apply exp_le in b. rewrite exp_0 in b.
    assert (1 * p <= exp budget * p) by (apply Rmult_le_compat_r; assumption). lra.
  - destruct w as [h w]. cbn [seen]. rewrite !Pr_first_then.
    pose proof (compose_private adj eps delta (budget - eps) (rest - delta) M (fun o => seen (next o)) h (fun o => IH o _ _ (w o)) x y n
      (fun ol => E (fst ol :: snd ol))) as c.
    replace (eps + (budget - eps)) with budget in c by ring. replace (delta + (rest - delta)) with rest in c by ring. exact c.
Qed.

(* Someone who asks a ledger: every request has a mechanism, its eps and its delta, fractions, and goes on after an outcome or a refusal. *)
Inductive asker (X O : Type) :=
  | Done : asker X O
  | Request : Q -> Q -> (X -> law O) -> (O -> asker X O) -> asker X O -> asker X O.
Arguments Done {X O}. Arguments Request {X O}.

Fixpoint honest {X O} (adj : relation X) (a : asker X O) : Prop :=
  match a with
  | Done => True
  | Request eps delta M answered refused =>
      approximately_private adj (Q2R eps) (Q2R delta) M /\ (forall o, honest adj (answered o)) /\ honest adj refused
  end.

(* The ledger answers a request if its eps and its delta are at most what is left of the budget, and refuses it otherwise. *)
Definition affords (budget rest eps delta : Q) : bool := (Qle_bool eps budget && Qle_bool delta rest)%bool.
Fixpoint served {X O} (budget rest : Q) (a : asker X O) : analyst X O :=
  match a with
  | Done => Stop
  | Request eps delta M answered refused =>
      if affords budget rest eps delta
      then Ask (Q2R eps) (Q2R delta) M (fun o => served (budget - eps)%Q (rest - delta)%Q (answered o))
      else served budget rest refused
  end.

(* The same rule for requests that are known beforehand. *)
Fixpoint admissions (budget rest : Q) (asked : list (Q * Q)) : list bool :=
  match asked with
  | [] => []
  | (eps, delta) :: later =>
      if affords budget rest eps delta
      then true :: admissions (Qred (budget - eps)) (Qred (rest - delta)) later
      else false :: admissions budget rest later
  end.

(*| ledger_private
A budget holds whoever asks, and however they choose. Someone chooses every mechanism, its $\varepsilon_t$ and $\delta_t$, and when to stop, in view of all outcomes and refusals before. The ledger answers a request if $\varepsilon_t$ and $\delta_t$ are at most what is left of the budget's $\varepsilon$ and $\delta$, and refuses it otherwise. If every mechanism is as private as its request says, then all that they see is $(\varepsilon, \delta)$-private.
papers: none
python: Ledger
by hand: that a ledger commits a charge before the draw, and draws nothing that it did not admit (tested, [ledger](../howto/ledger.md)); a dataset that is kept by a filter ([ledger proofs](ledger.md)).
test: test_composition_world
|*)
Theorem ledger_private {X O} (adj : relation X) (epsilon delta : Q) (a : asker X O) :
  (0 <= epsilon)%Q -> (0 <= delta)%Q -> honest adj a -> approximately_private adj (Q2R epsilon) (Q2R delta) (seen (served epsilon delta a)).
Proof.
  intros e0 d0 h. apply within_private. revert epsilon delta e0 d0 h. induction a as [|eps d M answered IH refused IHr]; intros epsilon delta e0 d0 h; simpl.
  - replace 0 with (Q2R 0) by (unfold Q2R; simpl; ring). split; apply Qle_Rle; assumption.
  - destruct h as [p [ha hr]]. unfold affords. destruct (Qle_bool eps epsilon) eqn:e; [|apply IHr; assumption].
    destruct (Qle_bool d delta) eqn:f; [|apply IHr; assumption]. apply Qle_bool_iff, Qle_minus_iff in e, f. split; [exact p|].
    intros o. rewrite <- !Q2R_minus. apply IH; [exact e|exact f|apply ha].
Qed.

(* Datasets that are t steps apart. *)
Fixpoint apart_by {X} (adj : relation X) (t : nat) (x y : X) : Prop :=
  match t with O => x = y | S t' => exists z, adj x z /\ apart_by adj t' z y end.
Fixpoint grown (eps : R) (t : nat) : R := match t with O => 0 | S t' => 1 + exp eps * grown eps t' end.

(*| group_private
Several steps cost their number. If $M$ is $(\varepsilon, \delta)$-private, then between datasets that are $t$ steps apart it is $(t \varepsilon, \delta (1 + e^\varepsilon + \dots + e^{(t-1) \varepsilon}))$-private; for $t = 2$: $(2 \varepsilon, (1 + e^\varepsilon) \delta)$.
papers: none
python: discreet.record.guarantee.group_privacy
by hand: nothing.
test: test_group_privacy_world
|*)
Theorem group_private {X A} (adj : relation X) (eps delta : R) (M : X -> law A) (t : nat) :
  approximately_private adj eps delta M -> approximately_private (apart_by adj t) (INR t * eps) (delta * grown eps t) M.
Proof.
  intros h. induction t as [|t IH]; intros x y n E.
  - simpl in n. subst. simpl. rewrite Rmult_0_l, exp_0. lra.
  - destruct n as [z [xz zy]]. pose proof (h x z xz E) as a. pose proof (IH z y zy E) as b.
    rewrite S_INR, Rmult_plus_distr_r, Rmult_1_l, Rplus_comm, exp_plus. cbn [grown].
    pose proof (Rmult_le_compat_l (exp eps) _ _ (Rlt_le _ _ (exp_pos eps)) b).
    replace (delta * (1 + exp eps * grown eps t)) with (delta + exp eps * (delta * grown eps t)) by ring. lra.
Qed.

Lemma grown_two eps : grown eps 2 = 1 + exp eps.
Proof. simpl. ring. Qed.

Corollary steps_private {X A} (adj : relation X) (eps : R) (M : X -> law A) (t : nat) :
  private adj eps M -> private (apart_by adj t) (INR t * eps) M.
Proof.
  intros h. apply private_approximately. pose proof (group_private adj eps 0 M t (proj1 (private_approximately _ _ _) h)) as g.
  rewrite Rmult_0_l in g. exact g.
Qed.

(* Two parts of the data, of which one step changes one. *)
Definition one_part {X Y} (adj1 : relation X) (adj2 : relation Y) : relation (X * Y) :=
  fun x y => (adj1 (fst x) (fst y) /\ snd x = snd y) \/ (fst x = fst y /\ adj2 (snd x) (snd y)).

Lemma parallel_private {X Y A B} (adj1 : relation X) (adj2 : relation Y) (eps : R) (M : X -> law A) (N : Y -> law B) :
  private adj1 eps M -> private adj2 eps N -> private (one_part adj1 adj2) eps (fun x => pair_law (M (fst x)) (fun _ => N (snd x))).
Proof.
  intros hM hN. apply private_pointwise. intros [x1 x2] [y1 y2] n [a b]. simpl in *.
  destruct n as [[n e]|[e n]]; simpl in *; subst.
  - pose proof (proj1 (private_pointwise _ _ _) hM _ _ n a). rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply mass_nonneg|assumption].
  - pose proof (proj1 (private_pointwise _ _ _) hN _ _ n b). rewrite <- Rmult_assoc, (Rmult_comm (exp eps)), Rmult_assoc.
    apply Rmult_le_compat_l; [apply mass_nonneg|assumption].
Qed.

(* Any number of parts: groups of a table. *)
Inductive one_of {X} (adj : relation X) : relation (list X) :=
  | this : forall x y l, adj x y -> one_of adj (x :: l) (y :: l)
  | later : forall x l l', one_of adj l l' -> one_of adj (x :: l) (x :: l').

Fixpoint each {X A} (M : X -> law A) (l : list X) : law (list A) :=
  match l with
  | [] => Law no_outcome no_outcome_nonneg no_outcome_total
  | x :: l' => Law (first_then (M x) (fun _ => each M l')) (first_then_nonneg _ _) (first_then_total _ _)
  end.

(*| groups_private
Groups that nobody can change cost $\varepsilon$ once. If $M$ is $\varepsilon$-private and one step changes the data of one group, then independent releases for all groups are together $\varepsilon$-private.
papers: none
python: LatticeGeometric
by hand: that nobody changes to another group is what the promise is about ([tables](tables.md)).
test: test_blocks_world
|*)
Theorem groups_private {X A} (adj : relation X) (eps : R) (M : X -> law A) : private adj eps M -> private (one_of adj) eps (each M).
Proof.
  intros h. apply private_pointwise. intros l l' n. induction n as [x y l n|x l l' n IH]; intros [|a r]; simpl; try lra.
  - pose proof (proj1 (private_pointwise _ _ _) h _ _ n a). rewrite <- Rmult_assoc. apply Rmult_le_compat_r; [apply mass_nonneg|assumption].
  - rewrite <- Rmult_assoc, (Rmult_comm (exp eps)), Rmult_assoc. apply Rmult_le_compat_l; [apply mass_nonneg|apply IH].
Qed.
