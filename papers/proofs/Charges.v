(* What a budget is charged for a release whose promise may be about other neighbours than its own. *)
From Coq Require Import Reals Lra List String Bool.
From Discreet Require Import Sums Laws Composition.
Import ListNotations.
Open Scope R_scope.

(* A record has a text in every column, and a dataset is a list of records. *)
Definition record := string -> string.
Definition dataset := list record.

(* What is promised: that a record comes or goes, or is replaced by one with the same texts in some columns, those that groups are made of. *)
Inductive promise := Add_or_remove | Replace_within (columns : list string).

Definition neighbours (p : promise) : relation dataset :=
  match p with
  | Add_or_remove => fun x y => exists before r after,
      (x = before ++ after /\ y = before ++ r :: after) \/ (x = before ++ r :: after /\ y = before ++ after)
  | Replace_within columns => fun x y => exists before r s after,
      x = before ++ r :: after /\ y = before ++ s :: after /\ forall c, In c columns -> r c = s c
  end.

(* How many steps of the release's promise one step of the dataset's takes; None if the release is refused. *)
Definition subset (b b' : list string) : bool := forallb (fun c => existsb (String.eqb c) b') b.
Definition steps_of (release budget : promise) : option nat :=
  match release, budget with
  | Add_or_remove, Add_or_remove => Some 1%nat
  | Add_or_remove, Replace_within _ => Some 2%nat
  | Replace_within _, Add_or_remove => None
  | Replace_within columns, Replace_within columns' => if subset columns columns' then Some 1%nat else None
  end.

Lemma subset_spec b b' : subset b b' = true -> forall c, In c b -> In c b'.
Proof.
  intros h c i. unfold subset in h. rewrite forallb_forall in h. specialize (h c i). apply existsb_exists in h.
  destruct h as [d [j e]]. apply String.eqb_eq in e. subst. exact j.
Qed.

Lemma subset_false b b' : subset b b' = false -> exists c, In c b /\ ~ In c b'.
Proof.
  unfold subset. induction b as [|c b IH]; simpl; intros h; [discriminate|].
  destruct (existsb (String.eqb c) b') eqn:e.
  - destruct (IH h) as [d [i n]]. exists d. auto.
  - exists c. split; [left; reflexivity|]. intros i. assert (existsb (String.eqb c) b' = true); [|congruence].
    apply existsb_exists. exists c. split; [exact i|apply String.eqb_refl].
Qed.

(*| charge_covers
The ledger's table of charges is enough. If one step of the budget's promise is $t$ steps of the release's by the table (1 for the same promise, 2 if a record that is replaced is one that goes and one that comes, 1 if the release's groups are coarser), then an $(\varepsilon, \delta)$-private release is $(t \varepsilon, \delta (1 + \dots + e^{(t-1) \varepsilon}))$-private for the budget.
papers: none
python: discreet.record.guarantee.steps_between
by hand: the rows of a person instead of a record ([ledger proofs](ledger.md)).
test: test_charges_world
|*)
Theorem charge_covers {A} (release budget : promise) (t : nat) (eps delta : R) (M : dataset -> law A) :
  steps_of release budget = Some t -> approximately_private (neighbours release) eps delta M ->
  approximately_private (neighbours budget) (INR t * eps) (delta * grown eps t) M.
Proof.
  intros e h. pose proof (group_private _ _ _ _ t h) as g.
  assert (steps : forall x y, neighbours budget x y -> apart_by (neighbours release) t x y); [|intros x y n; apply g, steps, n].
  intros x y n. destruct release as [|c], budget as [|c']; simpl in e; try discriminate.
  - injection e as <-. exists y. split; [exact n|reflexivity].
  - injection e as <-. destruct n as [before [r [s [after [ex [ey _]]]]]]. exists (before ++ after). split.
    + exists before, r, after. right. auto.
    + exists y. split; [|reflexivity]. exists before, s, after. left. auto.
  - destruct (subset c c') eqn:sub; [|discriminate]. injection e as <-. exists y. split; [|reflexivity].
    destruct n as [before [r [s [after [ex [ey same]]]]]]. exists before, r, s, after. repeat split; auto.
    intros d i. apply same, (subset_spec c c' sub d i).
Qed.

(* A mechanism that publishes a number or a column as it is. *)
Lemma certain_private {X A} equal (adj : relation X) (f : X -> A) :
  (forall x y, adj x y -> f x = f y) -> private adj 0 (fun x => certain equal (f x)).
Proof. intros h x y n E. rewrite (h x y n), exp_0. lra. Qed.

Lemma certain_not_private {X A} equal (adj : relation X) (f : X -> A) eps delta x y :
  adj x y -> f x <> f y -> delta < 1 -> ~ approximately_private adj eps delta (fun x => certain equal (f x)).
Proof.
  intros n d lt h. specialize (h x y n (fun a => a = f x)). rewrite !Pr_one in h. simpl in h.
  destruct (equal (f x) (f x)); [|congruence]. destruct (equal (f x) (f y)); [contradiction|]. lra.
Qed.

(*| refusal_needed
What the ledger refuses, no charge covers. Where the table of charges has no number, there is a release that loses nothing by its own promise ($0$-private) and that is not $(\varepsilon, \delta)$-private for the budget, for any $\varepsilon$ and any $\delta < 1$.
papers: none
python: discreet.ledger.charges.check_chargeable
by hand: the rows of a person instead of a record ([ledger proofs](ledger.md)).
test: test_charges_world
|*)
Theorem refusal_needed (release budget : promise) : steps_of release budget = None ->
  exists (A : Type) (M : dataset -> law A), private (neighbours release) 0 M /\
    forall eps delta, delta < 1 -> ~ approximately_private (neighbours budget) eps delta M.
Proof.
  intros e. destruct release as [|c], budget as [|c']; simpl in e; try discriminate.
  - exists nat, (fun x : dataset => certain PeanoNat.Nat.eq_dec (List.length x)). split.
    + apply certain_private. intros x y [before [r [s [after [ex [ey _]]]]]]. subst. rewrite !app_length. reflexivity.
    + intros eps delta lt. apply (certain_not_private _ _ _ eps delta [] [fun _ => ""%string]); [|discriminate|exact lt].
      exists [], (fun _ => ""%string), []. left. auto.
  - destruct (subset c c') eqn:sub; [discriminate|]. destruct (subset_false c c' sub) as [d [i no]].
    exists (list string), (fun x => certain (list_eq_dec string_dec) (map (fun r : record => r d) x)). split.
    + apply certain_private. intros x y [before [r [s [after [ex [ey same]]]]]]. subst. rewrite !map_app. simpl. rewrite (same d i). reflexivity.
    + intros eps delta lt. set (other := fun c => if String.eqb c d then "a"%string else ""%string).
      apply (certain_not_private _ _ _ eps delta [fun _ => ""%string] [other]); [| |exact lt].
      * exists [], (fun _ => ""%string), other, []. repeat split. intros b j. unfold other.
        destruct (String.eqb b d) eqn:q; [|reflexivity]. apply String.eqb_eq in q. subst. contradiction.
      * simpl. unfold other. rewrite String.eqb_refl. discriminate.
Qed.
